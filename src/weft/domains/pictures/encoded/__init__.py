"""Pictures as a model works with them.

A change is drawn from (key, global index) by a counter-based generator: neither batches, processes nor a restart change
it. Frames that do not fit in memory are read from their files one batch early (`batches.ahead`).

seen       SeenPictures: the data at a size, in channels, on a scale
frames     pictures scaled, in memory or read from files
preparing  pictures scaled and cut as the makers of a model did
batches    samples for training and measuring
views      several views of each picture
augment    random changes, a batch at a time: geometry moves pixels, tone changes light and colour
"""
