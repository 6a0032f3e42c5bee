"""Views.

plane  Words in two dimensions
"""
