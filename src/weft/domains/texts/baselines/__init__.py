"""Plain methods for texts.

counts   counts of words for labels; words with their endings for tags
ngrams   n-grams of tokens for running text and for blanks
"""
