"""What a node read.

node     the graph around a node, with the attention weights on what it read
drawing  nodes in the plane, edges between them
"""
