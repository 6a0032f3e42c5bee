"""Readers of users' data, one kind of data a file: each can judge a survey of the files, and read them.

pairs      a source and its translation: tables, .tmx, .po, parallel files
labelled   texts with a label each: tables, folders of classes
tagged     words with tags: columns as at the CoNLL shared tasks, lines of JSON
captions   pictures with sentences about them
images     pictures, with or without classes
trees      bracketed trees
corpus     text of any kind
"""
