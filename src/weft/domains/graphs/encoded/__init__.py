"""Graphs as numbers and as samples.

rows       graphs of different sizes padded behind, their edges in one list over all of them
positions  eigenvectors of the Laplacian, steps between nodes
"""
