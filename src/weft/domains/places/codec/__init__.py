"""Codec.

colours      ColourCodec
coordinates  PlaceCodec
"""
