"""Settings of each task's training, as people give them with `--set name=value`. Numbers and their limits; no torch.

`sized` and `limits` are everybody's; every other file is of one domain.
"""
