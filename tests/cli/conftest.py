from commands import weft

__all__ = ["weft"]
