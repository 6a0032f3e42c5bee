"""Graphs and sets in users' files: nodes with features, edges between them, labels of nodes or of wholes. Knows no torch."""
