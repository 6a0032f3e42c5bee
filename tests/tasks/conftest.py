from helpers.commands import weft

__all__ = ["weft"]
