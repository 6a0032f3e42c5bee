"""What a parser read.

looking  a look at one sentence by a run
tree     the tree, and below its words what was read for each part
"""
