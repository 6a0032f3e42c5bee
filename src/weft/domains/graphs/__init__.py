"""Graphs.

answers   What a run on graphs or sets answers for files
cards     Tasks on graphs of nodes and on sets of vectors
codec     GraphCodec
dataset   a folder
elements  Runs on graphs and sets
encoded   a folder
exchange  Models of graphs and sets for elsewhere
graph     graph
measures  What simple rules reach on the same held-out data
presets   The sizes of models of graphs and sets
reading   a folder
recipe    Models of graphs and sets
sample    Samples of weft's own
sets      sets
settings  Settings of trainings on graphs of nodes and on sets of vectors
views     a folder
"""
