"""People's pictures with texts become an album. No torch.

Every file about pictures becomes rows, which are gathered picture by picture.

captions         read_captions and judge
questions        read_questions and judge
sources          which files hold rows, and where the pictures are
about            what one row says, and what texts about pictures may be
kept             many rows in a mapped file
rows             rows gathered picture by picture
caption_tables   tables with captions
question_tables  tables with questions and answers
coco             COCO's JSON, lines of Flickr8k
vqa              VQA's two files
stems            dog.jpg beside dog.txt or dog.json
"""
