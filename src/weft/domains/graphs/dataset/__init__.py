"""Graphs, sets and nodes to train on and held out. No torch.

data      GraphData: graphs with labels, whole or of some nodes
dividing  nodes by their names: held out, or to judge which model suits
reader    the readers of graphs and of sets, and what they hold out
"""
