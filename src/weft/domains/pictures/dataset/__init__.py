"""Pictures to train on and pictures held out. No torch.

pictures  the readers, with labels and without
split     the split: a pure function of contents and labels
"""
