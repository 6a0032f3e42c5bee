"""Reading.

notation   Trees in brackets, as the Penn Treebank writes them
tree       Trees over the words of a sentence
treebanks  Files of bracketed trees, and folders of them (`data.trees.notation` reads the brackets)
"""
