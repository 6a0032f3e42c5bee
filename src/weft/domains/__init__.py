"""Domains: what a token is and what people have of it, a folder for each. `registry` knows the cards of all of them.

`recognising` says which task some files are data for.
"""
