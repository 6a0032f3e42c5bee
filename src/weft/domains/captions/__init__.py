"""Captions.

answer         answer
answer_inputs  Questions about pictures as a user hands them over
answering      Answers to questions about pictures by a run
caption        caption
captioners     Models that write about pictures, put together
cards          Tasks on pictures with texts
codec          UsualAnswers
common_space   Pictures and texts in one space, by a run whose model learned it
dataset        a folder
decoders       Decoders that begin with a language model
encoded        a folder
exchange       Models of pictures and texts from elsewhere and for elsewhere
measures       a folder
reading        a folder
recipe         a folder
sample         a folder
settings       Settings of trainings on pictures with texts
views          a folder
writing        Captions by a run
"""
