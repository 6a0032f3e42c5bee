"""Pictures to train on and pictures held out. No torch.

facts     how many pictures there are, of which sizes, classes and kinds; a contact sheet
pictures  the readers, with labels and without
split     the split: a pure function of contents and labels
"""
