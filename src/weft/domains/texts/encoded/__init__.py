"""Encoded.

labelled     Labelled texts as ids and as samples
masking      Windows of a text with some tokens hidden
running      Running text as ids
tagged       Tagged sentences as ids and as samples
whole_texts  Texts that a model reads whole, as ids
"""
