"""Pictures with texts to train on and held out. No torch.

captions   with sentences
questions  with questions and answers
"""
