"""Reading.

album        An album
arrays       Pictures in .npz and .npy files
copies       Which pictures are copies of each other
folders      The pictures in a folder and all below it
layout       What the folders that pictures stand in mean
recognising  Pictures, with or without classes
sources      Which pictures a name stands for
tables       Pictures that a .csv or .tsv file names, with their classes
trying       Users' pictures, every one of them tried before it is relied on
"""
