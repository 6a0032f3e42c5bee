"""Fields as samples: which cells of a window are hidden, the windows in their order, and the learning of a first guess.

batch      a batch of windows
hiding     which cells are hidden, by a sample's index alone
windows    windows of fields as a source of samples
learning   a codec from the fields to train on
"""
