"""The lectures' claims as experiments: each is run, drawn, and judged by a rule that was written down before.

    experiment     Claim, SeedOutcome, Experiment; the experiments by name
    exercise       small exercises for streams of tokens, and the loop that teaches them
    claims/        the experiments, one file each
    running        seed after seed, within a time or a number, kept so that a stopped report goes on
    verdict        the effects of several seeds as a number, its interval and a verdict
    pages          what people read of it: lines for the terminal, a page for one claim
    report         all claims as one page: guide, verdicts, chapters

An experiment imports public parts of weft alone, and stays under 100 lines: it is written to be read in class.
"""
