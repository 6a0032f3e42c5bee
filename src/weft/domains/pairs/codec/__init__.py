"""Codec.

languages  The languages of a translation, where a model knows several and a user names two of them
target     TargetCodec
"""
