"""Dataset.

documents  Holding some of a text out
labelled   Texts with a label each to learn from and texts held out
running    Running text to learn from and text held out
tagged     Sentences with a tag for each word to learn from and sentences held out
"""
