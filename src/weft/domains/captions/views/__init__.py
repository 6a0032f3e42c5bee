"""Where words about a picture looked.

caption_looking  a look at a picture: the run's caption or a given one; captioning makes its maps
answer_looking   a look at a picture and a question; answering makes its maps
reading          how much of each patch was read for each token (attention)
occlusion        how much less probable a word becomes when a part is covered
inside           the share of attention inside the region of a word
words            PictureWords: for each word its map and region. Drawn by words_sheet (one sheet), words_film (a film),
                 words_page (a page) and words_view (the views that offer them)
"""
