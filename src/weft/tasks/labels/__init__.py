"""Labels of whole samples, whatever is labelled: codecs, and learning, predicting and measuring by them.

label      LabelCodec: what every codec of labels can do
classes    ClassCodec: one class of several
numbers    NumberCodec: a number in the user's unit
several    SeveralCodec: any number of labels, each with its own probability
labelling  what a task with labels does: objective, predictions, measures, mistakes
baselines  the commonest class or the mean, linear models and forests on features
rows       LabelledRows, EncodedRows: rows of different lengths with a label each, as numbers and as samples
task       LabelTask: what every task does alike that gives its inputs a label
"""
