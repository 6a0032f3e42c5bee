"""Dataset.

data      Graphs and sets with labels
division  Graphs, sets and nodes divided into those to learn from and those held out
reader    Graphs in files to learn from and held out; and sets, which are graphs without edges
"""
