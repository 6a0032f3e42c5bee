"""Texts.

blanks          Blanks filled in by a run's encoder
cards           Tasks on texts
classify_text   classify-text
codec           a folder
continuing      How a text is continued
dataset         a folder
encoded         a folder
exchange        Models of texts from elsewhere and for elsewhere
fill_mask       fill-mask
grammar         a folder
language_model  language-model
measures        How good tags of words are, and the entities that they spell out
presets         The sizes of language models and of encoders of texts
reading         a folder
recipe          a folder
sample          a folder
settings        Settings of trainings on texts
tag_text        tag-text
tagging         Tags of words by a model, with their probabilities, and in words for a look
views           a folder
"""
