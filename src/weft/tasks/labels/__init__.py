"""Labels.

classes    ClassCodec
label      LabelCodec
labelling  Labels of whole samples, classes or numbers
numbers    NumberCodec
several    SeveralCodec
"""
