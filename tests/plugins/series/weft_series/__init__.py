"""Time series for weft: tables with a label and a series of numbers in each row.

cards     the task in plain words, and the settings of its training; loads no torch
reading   tables of series: recognised, read and split; loads no torch
token     what a token is: the codec of series, a batch of them, and their embedder
task      the model, the samples, and what is done with a run
"""
