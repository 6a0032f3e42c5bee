"""Fields as samples.

seen      SeenFields: the data as anomalies, and how much there is
learning  a codec learned from the fields to train on
windows   windows, read when they are asked for: a store may be larger than memory
hiding    which cells of a window are hidden, drawn by (key, index)
"""
