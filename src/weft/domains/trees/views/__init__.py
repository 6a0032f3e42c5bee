"""Views.

crown    A tree drawn above the columns of a matrix, whose words are its leaves
looking  A look at the tree of a sentence
tree     What a parser read
"""
