"""The two forms of a tree as numbers.

symbols  SymbolCodec: each symbol is one id
gaps     GapCodec: what opens before a word and how much closes after it, as one number
"""
