"""Where words about a picture looked.

captioning       where the words of a caption looked
answering        where the words of an answer and its question looked
studies          captions and answers as studies of their tokens
reading          how much of each patch was read for each token (attention)
occlusion        how much less probable a word becomes when a part is covered
inside           the share of attention inside the region of a word
words            PictureWords: for each word its map and region. Drawn by words_sheet (one sheet)
                 and words_view (a film, and the views that offer them)
"""
