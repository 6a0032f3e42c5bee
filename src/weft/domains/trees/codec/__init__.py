"""Codec.

gaps     GapCodec
symbols  SymbolCodec
"""
