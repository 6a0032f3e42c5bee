"""Graphs, sets and nodes to train on and held out. No torch.

data      GraphData: graphs with labels, whole or of some nodes
reader    the readers of graphs and of sets, and what they hold out
"""
