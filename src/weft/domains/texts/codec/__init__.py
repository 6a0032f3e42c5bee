"""Codec.

tags  TagCodec
text  TextCodec
"""
