"""Recipe.

encoders  Encoders of texts
language  Language models
"""
