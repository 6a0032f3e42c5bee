"""Encoded.

augment    Pictures changed at random, a batch at a time
batches    Batches of pictures for training and for measuring
frames     Frames
geometry   Where the pixels of a changed picture are read
mixing     Pictures mixed with others
preparing  Pictures prepared as the makers of a model prepared theirs
seen       Pictures as a model works with them
tone       Light and colour of pictures
views      Several views of each picture, for models that learn to see the whole in a part
"""
