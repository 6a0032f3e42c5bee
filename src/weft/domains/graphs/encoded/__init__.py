"""Encoded.

positions  Where nodes are in their graph
rows       Graphs and sets as numbers and as samples
"""
