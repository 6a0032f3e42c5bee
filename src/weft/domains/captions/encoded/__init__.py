"""Encoded.

captions   Pictures with captions as ids and as samples
questions  Pictures with questions and answers as ids and as samples
"""
