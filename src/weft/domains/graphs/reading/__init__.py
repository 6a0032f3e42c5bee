"""Reading.

arrays      Graphs in .npz files
cleaning    Edges as files have them, made clean
exchange    Graphs in files that NetworkX reads
files       Graphs from files of every kind that weft reads, and whether sources hold some
given       Graphs and sets that a user hands over to be labelled
graph_set   GraphSet
molecules   Molecules in a column of SMILES, read by RDKit where it is installed
properties  Properties of nodes by name, as tables and graph files have them
set_files   Sets of vectors from files, and whether sources hold some
sets        Sets of vectors with a label each
tables      A graph in tables
tu          Many graphs in the two layouts of the TU collection (Morris et al., 2020)
"""
