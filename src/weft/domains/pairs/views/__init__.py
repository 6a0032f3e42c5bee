"""Views.

looking      A look at a text that a run's encoder–decoder writes for another
translation  What a translation looked at
"""
