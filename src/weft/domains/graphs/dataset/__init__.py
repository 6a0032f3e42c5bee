"""Graphs, sets and nodes to train on and held out. No torch.

data      GraphData: graphs with labels, whole or of some nodes
division  which are held out; nodes of one graph are two masks over it
reader    the readers of graphs and of sets
"""
