"""Texts: files of running text, talks in turns, texts with a label, sentences with tags, passages with questions.

A token is a piece of a word, by a tokenizer that is learned from the data or comes with another run. Running text
becomes one stream of ids cut into windows; talks are packed into windows, and their answers count; labelled and tagged
texts become rows, computed together by like length.

cards           language-model, fill-mask, classify-text, tag-text and answer-text in plain words
settings        of their trainings
reading         files become documents, texts with labels, sentences with tags
dataset         which of them are trained on and which are held out
codec           TextCodec, TagCodec and TurnCodec
encoded         the data as ids and as samples
recipe          language models and encoders that suit a budget
exposure        what a language model knows by heart: ranks of rare numbers and names
measures        tags and the entities they spell out, answers in passages: F1
baselines       plain methods: counts of words, endings of words, n-grams of tokens
views           attention within a text, vectors of texts
sample          opinions, names, lives and running texts of weft's own
exchange        models of texts from elsewhere and for elsewhere

language_model  continues a text, or answers in turns: sampling, precision, the form that an answer must have
fill_mask       fills in blanks; blanks finds candidates and scores hidden tokens
classify_text   labels texts: a class or a number
tag_text        tags words, with probabilities; sentences are inputs that come in words
answer_text     finds answers in passages; finding computes spans and their chances
grammar         the small grammar of English behind several samples
"""
