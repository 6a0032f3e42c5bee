"""Pictures: alone, or with a class or a number each.

A token is a patch (`PatchEmbed`), a place of a convolutional network's features (`ConvEmbed`), or patches mixed and
merged in stages (`StagedEmbed`, Swin). `PictureEmbed` holds what they share: the scale of numbers, positions, the class
token. A ResNet is a stream whose embedder does all the work: its trunk has no blocks. Positions are stretched over the
grid that was learned, so pictures of any size and shape are read. Missing pixels travel beside the pixels
(`Picture.missing`): a patch without enough known pixels is no real token for a ViT, and is hidden for an autoencoder.

    files -> Album (found, each tried once)       reading
          -> Frames (at the model's size)         encoded/frames
          -> Epochs + Augment (by index alone)    encoded/batches, encoded/views, encoded/augment
          -> Samples | Picture | Views            what an objective takes

cards               classify-images, reconstruct-images and distill-images in plain words
settings            of their trainings
reading             files, folders, archives, tables and arrays become an album
dataset             pictures to train on and pictures held out
codec               PictureCodec: the size at which pictures are read, and how they are prepared
encoded             pictures at the model's size, changed at random, in batches
recipe              models that suit a budget, and what they cost
baselines           plain methods: the nearest thumbnails, principal components
views               maps over a picture, learned filters and positions
sample              digits that come with scikit-learn
exchange            models of pictures from elsewhere and for elsewhere

classify_images     labels pictures
reconstruct_images  hides patches and fills them in (MAE), also in pictures that a user gives
filling             pictures with their hidden parts filled in: how wrong, how sharp, and drawn
distill_images      a student learns from its own average (DINO)
studies             a label, a hidden patch or a prototype, to be followed from layer to layer
given               pictures in use: read as the model reads them, computed in batches of one shape
"""
