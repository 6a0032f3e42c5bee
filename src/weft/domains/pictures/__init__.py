"""Pictures.

cards               Tasks on pictures
classify_images     classify-images
codec               PictureCodec
dataset             a folder
distill_images      distill-images
encoded             a folder
exchange            Models of pictures from elsewhere and for elsewhere
filling             Pictures filled in by an autoencoder
given               Pictures in use
presets             The sizes of models that read pictures
reading             a folder
recipe              a folder
reconstruct_images  reconstruct-images
sample              Pictures that come with scikit-learn
settings            Settings of trainings on pictures alone or with labels
views               a folder
"""
