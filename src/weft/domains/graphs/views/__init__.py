"""What is seen of graphs and of models that read them.

drawing    a graph laid out in the plane, and drawn with what one node read
reading    what one node read
positions  the graph coloured by the eigenvectors that say where its nodes are
"""
