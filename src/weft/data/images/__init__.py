"""Users' pictures: found, decoded, held out, brought to a size, changed at random, batched."""
