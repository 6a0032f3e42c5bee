"""Texts of weft's own.

opinions  sentences that are positive or negative
names     sentences with tagged persons, places and organisations
questions lives of persons, and questions about them
running   running text: drawn sentences, or the help texts of Python
"""
