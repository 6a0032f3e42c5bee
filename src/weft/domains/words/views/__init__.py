"""Vectors of words, drawn.

plane  the two directions in which they differ most
"""
