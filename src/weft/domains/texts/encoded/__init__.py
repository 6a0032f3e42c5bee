"""Texts as ids and as samples.

running      one stream to train on and one held out
talks        talks packed into windows; the tokens of answers count
scored       held-out text or talks, as a language model is scored on them
masking      windows of a stream with some tokens hidden. `TokenMasker` draws them by (key, index); a held-out window
             hides the same tokens for every seed
questions    questions with windows of their passages, and the tokens of the answers
whole_texts  texts with their labels, sentences with a tag at the first token of each word; how much there is of them
"""
