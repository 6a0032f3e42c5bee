"""Texts about pictures as ids and as samples; a picture is read once for several of its texts.

caption_ids   sentences as ids
captions      sentences with their pictures as samples
question_ids  questions and answers as ids
questions     these with their pictures as samples
"""
