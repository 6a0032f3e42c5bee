"""The data as numbers: what a task's source draws its samples from, and what a plan says of it. One kind of data a file."""
