"""Texts as ids and as samples.

running      one stream to train on and one held out
masking      windows of a stream with some tokens hidden. `TokenMasker` draws them by (key, index); a held-out window
             hides the same tokens whatever the seed
labelled     texts with their labels
tagged       sentences; the tag of a word stands at its first token
whole_texts  how much text there is where every text is read whole
"""
