"""People's files become trees. No torch.

treebanks  files and folders of bracketed trees, and whether sources hold some
notation   the brackets
tree       Tree: labels over the words of a sentence, walked by loops and never by recursion
"""
