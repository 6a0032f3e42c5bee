"""Encoded.

hiding    Which cells of a window are hidden
learning  A codec from the fields to train on
seen      Fields as a model works with them
windows   Windows of fields
"""
