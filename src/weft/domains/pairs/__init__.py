"""Pairs: sentences with their translations, from tables, .po, .tmx and parallel files.

A token is a piece of a word. Source and target share one tokenizer; each side stands between its own marks. An
encoder–decoder reads the source and writes the target.

cards     translate in plain words
settings  of its training
reading   files become pairs
dataset   pairs to train on and sources held out
codec     what a decoder writes; the languages of a translation
encoded   pairs as ids and as samples, by like length
recipe    encoder–decoders that suit a budget
measures  BLEU and chrF with intervals, exact matches
baselines plain methods: the source copied, a table of words
views     which words were read for which
studies   what is written, as a study of its tokens
sample    the phrasebook
exchange  encoder–decoders from elsewhere and for elsewhere

translate        translates sentences and documents
leaving_out      what a translation depends on, by leaving out words: for models without attention
language_choice  which languages a model of many is used for
writing          texts written or scored by a run's encoder–decoder; trees and captions write by it too
"""
