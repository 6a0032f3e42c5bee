"""Batches.

ahead          Ahead
draws          Random numbers as a pure function of a key and a sample's index
epochs         Epochs
field_windows  A batch of windows of fields
like_lengths   Rows of like length, computed at once
order          The order of samples as a pure function
samples        Samples
source         Source
views          A batch of pictures in several views
windows        Windows of a text
words          What batches of words hold
"""
