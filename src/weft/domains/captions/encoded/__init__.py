"""Texts about pictures as ids and as samples; a picture is read once for several of its texts.

captions   sentences
questions  questions and answers
"""
