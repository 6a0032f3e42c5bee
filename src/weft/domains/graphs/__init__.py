"""Graphs: nodes with features and edges between them. A set is a graph without edges.

A token is a node (or an element of a set). Its edges are relations between tokens, with types and weights; eigenvectors
of the Laplacian and steps between nodes say where it is. A label belongs to a node or to the whole.

cards      graph and sets in plain words
settings   of their trainings
reading    files become graphs and sets
dataset    graphs, sets or nodes to train on and held out
codec      GraphCodec: features, words and types of edges
encoded    graphs as numbers and as samples
positions  where nodes are: eigenvectors of the Laplacian, steps between nodes
recipe     models that suit a budget
baselines  plain methods: a linear map, the neighbours' labels, a forest on substructures
views      a graph drawn, and what one node read
sample     a party's tables as a graph, throws of dice as sets

labels     graph and sets: labels of nodes, of whole graphs, or of sets; their export
rows       graphs and sets in the rows of tables that are to be labelled
elements   what both do: codecs, values for each element, measures; labels, tables and vectors as answers
"""
