"""Reading.

caption_tables   Tables that name pictures and say something about each
captions         Users' pictures with captions, every picture tried before it is relied on
coco             Captions in the files of public collections
lookup           Where the pictures are that a table or another file names
question_tables  Tables that name pictures and ask something about each, with the answers
questions        Users' pictures with questions about them and the answers, every picture tried before it is relied on
rows             Rows about pictures that are named, from tables and other files
sources          Sources of rows about pictures
stems            Pictures with a text file of the same name each
vqa              Questions about pictures in the two files of VQA v2
"""
