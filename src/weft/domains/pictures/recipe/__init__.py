"""Recipe.

costs  What it costs to learn from a picture, counted on a model whose weights are on no device at all
sizes  Models for pictures
"""
