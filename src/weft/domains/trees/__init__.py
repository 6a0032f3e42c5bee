"""Trees: sentences with bracketed trees, as the Penn Treebank writes them.

The sentence becomes tokens as any text does. The tree is written in one of two forms: symbol by symbol, brackets with
their labels and XX for each word (an encoder–decoder), or as one tag for each gap between words (an encoder).

cards         parse in plain words
settings      of its training
reading       files become trees
dataset       sentences to train on and sentences held out
codec         SymbolCodec of brackets, GapCodec of gaps
encoded       trees as symbols or as gaps, and as samples
recipe        parsers that suit a budget
measures      labelled bracket F1, as evalb counts it
baselines     plain methods: one bracket, brackets that branch to the right
views         a tree above its words, and what was read for each part
sample        a small grammar of English with trees

parse         parses sentences: in symbols by tree_writing, in gaps by gap_tagging
tree_writing  trees written symbol by symbol; well_formed is the rule that makes each a tree
gap_tagging   trees from tags of gaps: the best that balances
"""
