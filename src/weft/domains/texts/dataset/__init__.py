"""Texts to train on and texts held out. No torch.

running    running text, streamed from files and never held whole
documents  how some of it is held out: whole documents, or a part of one
talks      questions and answers in turns
labelled   texts with a label each
tagged     sentences with a tag for each word
questions  passages with questions and answers
"""
