"""Pictures with sentences about them: tables that name pictures, and pictures with a text file of the same name each."""

from weft.data.captions.reading import read_captions
from weft.data.captions.recognising import looks_captioned

__all__ = ["looks_captioned", "read_captions"]
