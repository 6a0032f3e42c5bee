"""Domains: what a token is and how people's data becomes tokens. One folder for each, with the same roles in each.

texts     running, labelled and tagged texts; a token is a piece of a word
pairs     texts with their translations: an encoder–decoder writes one for the other
trees     sentences with bracketed trees
words     vectors of whole words
pictures  pictures alone or with labels; a token is a patch, or a place of a convolutional network's features
captions  pictures with sentences, or with questions and answers: a token of either side
fields    variables on a grid in time; a token is a block of cells
places    values at coordinates; a token is one place
graphs    graphs of nodes, and sets of vectors, which are graphs without edges; a token is a node

registry     the cards of these nine, then those of plug-ins
recognising  which task some files are data for, and why

A role has the same name in every domain. It is a file, or a folder of that name once it needs several files.

cards     the tasks in plain words           settings  what people may set of a training; sizes of models
reading   people's files become rows
dataset   rows to train on and rows held out
codec     values to numbers and back; stands in config.json
encoded   the data as numbers: ids, frames, windows; how much there is; samples by index
recipe    a model that suits data and budget, and its learning rates
measures  how good a run is, beside simple rules
views     what a run looked at, drawn
sample    data of weft's own, to try a task with
exchange  models from elsewhere and for elsewhere: codecs, marks, the proof of an export

Beside them stands one final `Task` a file, and files that only this domain has. Cards, settings, reading, dataset,
registry and recognising load no torch. Embedders, losses and model classes are on the ground floor
(`modalities`, `objectives`, `models`).

A domain may import: pairs texts; trees pairs and texts; words texts; captions pictures, pairs and texts. Fields,
places and graphs import no other. Only the registry knows all.

How `recognising` chooses: the sources are surveyed once, and the reader of every task judges the survey: no, possible
or sure, and why. The one that is sure is taken. Where several are sure, or none for a table, the data is refused with
its columns and the settings that would decide. Plain text is only ever possible: it is taken where nobody else is sure.
"""
