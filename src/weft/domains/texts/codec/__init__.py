"""Texts and tags to numbers and back.

text  TextCodec: ids by a tokenizer, between marks. The marks depend on the role in which a model meets the text
      (whole, line, source, target, caption)
turns TurnCodec: talks in turns, marked by a chat template
templates  chat templates, rendered in a sandbox
tags  TagCodec: one tag for each word
"""
