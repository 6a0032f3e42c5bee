"""People's files become graphs and sets. No torch.

files       graphs from files of every kind, and whether sources hold some
tables      tables of edges, nodes and graphs; properties tells numbers, words and labels apart
arrays      .npz files
exchange    GraphML, GML and node-link JSON, by NetworkX
tu          the two layouts of the TU collection
molecules   a column of SMILES; smiles reads one molecule, atoms says what is known of each atom
set_files   sets from files, and whether sources hold some; sets reads one file
given       graphs and sets handed over to be labelled
graph_set   GraphSet: the graphs of some files, and what is known of them
cleaning    edges checked: loops and repeats taken out and counted
"""
