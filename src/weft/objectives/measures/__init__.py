"""How good predictions are: measures with the intervals they are known within. Knows numbers, refuses to know models.

Measures of one domain stand in that domain.

    classes       accuracy, F1 and confusion of classes; Wilson's interval
    several       F1 of any number of labels a sample, over all labels and by label
    numbers       errors and correlation of predicted numbers
    calibration   whether a model that is 80 % sure is right in 80 of 100 cases
    resampling    bootstrap: how far a measure would move on other examples
    tallies       a measure kept by example, to compare two methods over the same resamples
    ngrams        n-grams of texts, counted and compared
    nearest       the answer of the nearest samples, which a model should beat
    retrieval     how often the right one is among the first k
"""
