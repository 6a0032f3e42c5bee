"""Texts and tags to numbers and back.

text  TextCodec: ids by a tokenizer, between marks. The marks depend on the role in which a model meets the text
      (whole, line, source, target, caption)
tags  TagCodec: one tag for each word
"""
