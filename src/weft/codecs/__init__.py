"""Codecs: the two ends of a task's samples, each between what people have and the numbers of a model.

A codec is known by its name once its file is imported, which the task that it belongs to does.
"""
