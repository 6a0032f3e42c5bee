"""How good captions and answers are, and whether the model looked.

captioning  a run's captions, beside those of shuffled pictures, the best for all, and the nearest picture's
captions    CIDEr-D, ROUGE-L and BLEU as pycocoevalcap computes them; words are those it counts
known       what a run keeps for these baselines: thumbnails with captions (known.safetensors)
answering   a run's answers, written and chosen, beside guesses
looking     a score beside those of baselines that did not look at the picture
"""
