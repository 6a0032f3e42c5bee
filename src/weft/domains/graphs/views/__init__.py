"""Views.

drawing  The picture of a graph
node     What a node of a graph read
"""
