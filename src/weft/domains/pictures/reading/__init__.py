"""People's pictures become an album. No torch.

recognising  whether sources hold pictures, with classes or without
sources      which pictures a name stands for: folders, archives, arrays, tables, patterns
folders      a folder and all below it; layout says what the folders mean,
             samples what small files beside pictures say, and which archives are one set
tables       a table that names pictures; lookup finds them by their names or numbers
label_tables  a folder of pictures with a table of their classes in it
arrays       .npz and .npy files; idx those of MNIST and its relatives
trying       every picture decoded once before it is relied on; a broken one is named and left out, up to a bound
kept         what the trial found, in prepared data for the next time
album        Album: pictures that were found, with labels, captions or questions, read in any order
copies       pictures saved again, turned or mirrored, so that they are held out together
"""
