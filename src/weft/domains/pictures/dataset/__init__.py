"""Dataset.

facts     How many pictures there are, of which sizes, classes and kinds
pictures  Pictures to learn from and pictures held out
split     Pictures to learn from and pictures held out
"""
