"""Trees as a model learns them.

linearised  a tree as a sequence of brackets and words; a sequence, however broken, as a tree
symbols     the same as symbols, each one word: oNP and cNP are the brackets of a noun phrase
gap_tags    a tree as what stands in the gaps between its words, and back
gaps        the same as ids and as samples
"""
