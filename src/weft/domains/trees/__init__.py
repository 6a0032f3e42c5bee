"""Trees.

cards         The task on trees
codec         a folder
dataset       Sentences with their bracketed trees to learn from, and sentences held out
encoded       a folder
gap_search    The best tree by the scores of its gaps
gap_tagging   Trees found by tagging the gaps between words
measures      How alike trees are
parse         parse
reading       a folder
recipe        Parsers
sample        Trees that ship with weft
settings      Settings of the training of a parser
tree_writing  Trees written symbol by symbol by a run's encoder–decoder, under the rule of trees
views         a folder
well_formed   TreeRule
"""
