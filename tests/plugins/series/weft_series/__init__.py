"""Time series for weft: tables with a label and a series of numbers in each row.

cards     the task in plain words, the settings of its training; reading: tables of series. Both load no torch
token     codec, batch and embedder of series; task: the model, the samples, and what is done with a run
"""
