"""Views.

answer_looking   A look at a picture and a question with a run that answers
answering        What a question looked at in a picture, word by word, and what its answer did
caption_looking  A look at a picture with a run that writes about pictures
captioning       Where each word of a caption looked
inside           Whether words looked at what they are about
occlusion        Occlusion of pictures with texts
reading          How much of each patch of a picture a model read for each token that it wrote
words            Words about a picture
words_film       Words about a picture as a film
words_page       Words about a picture as a page that needs nothing else
words_sheet      Words about a picture on one sheet
words_view       The views of words about a picture
"""
