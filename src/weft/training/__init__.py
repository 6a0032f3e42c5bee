"""Training: the loop, the optimizer, the run folder and its checkpoints."""
