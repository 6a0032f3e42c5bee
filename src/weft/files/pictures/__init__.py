"""Pictures in files and archives become pixels. No torch.

formats    what a file is, by its ending and first bytes
locations  where a picture can be read from, again and again
archives   zip and tar, read in place
in_parquet pictures in the rows of Parquet files, taken out once
decoding   the bytes of one picture become pixels; colour brings every kind of number to 8 bits, png_sums checks PNG's
           checksums, which decoders skip, and warned hears what Pillow warns of
regions    what texts say of parts of pictures: Region, Question

Files are first decoded in child processes, as a picture may crash its decoder or hold it up. Then a child dies, the
picture is named and counts as one more bad picture. Pictures that could be decoded are read in weft's own process.
decode_all       every picture tried once, several at a time
decode_workers   the children, seen from weft's process
decode_worker    one child
decode_protocol  what both say to each other, as bytes
"""
