"""Encoded.

gap_tags    Trees as what stands in the gaps between words
gaps        Trees as tags of the gaps between words, as ids and as samples
linearised  Trees as sequences of symbols, for a model to write
symbols     Trees as the symbols that a model learns to write
"""
