"""Encoded.

counts      Counts of pairs of words that stand near each other
lines       Lines of words
vocabulary  Words of texts as numbers
"""
