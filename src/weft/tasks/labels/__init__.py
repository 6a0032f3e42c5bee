"""Labels.

classes    ClassCodec
label      LabelCodec
labelling  Labels of whole samples, classes or numbers
numbers    NumberCodec
rows       LabelledRows, EncodedRows: rows of different lengths with a label each
several    SeveralCodec
task       LabelTask: what all tasks do alike that give their inputs a label
"""
