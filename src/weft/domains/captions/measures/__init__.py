"""Measures.

answering   How well a run answers questions about held-out pictures, written and chosen, and whether it looked at them at all
answers     How good short answers are
captioning  How good a run's captions are, and whether it looked
captions    How good captions are
known       What a run keeps of its training pictures, to be measured beside later
looking     Whether a model looked at its pictures
words       The words of a caption as measures of captions count them
"""
