"""Settings that the trainings of all tasks share, as people give them with `--set name=value`. No torch.

sized   size of the model, a start from another run, bad rows
limits  ranges of settings, and how the user's words become a config
"""
