"""Pairs.

cards            The task on pairs
codec            a folder
dataset          Pairs of texts to learn from and sources held out
encoded          Pairs of texts as ids and as samples
exchange         Encoder–decoders of texts from elsewhere and for elsewhere
language_choice  Which languages a translator is used for, where its tokenizer has marks of languages
measures         How good translations are
presets          The sizes of encoder–decoders on pairs of texts; both sides have as many layers
reading          a folder
recipe           Encoder–decoders on pairs of texts
sample           a folder
settings         Settings of trainings on pairs of texts
translate        translate
views            a folder
writing          Texts written by a run's encoder–decoder
"""
