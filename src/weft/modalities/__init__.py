"""What a token is in each domain, and its embedding: the only part of a model that knows words, pixels or latitudes.
Refuses to know files, models and losses.

    embedder                          Embedder: raw values become Tokens
    text, framing, encoding           ids become vectors; texts between marks; streams of documents as ids
    passages                          a question and a passage in one row; windows of long passages
    counting, words                   a coordinate that counts some ids; words as people count them
    spelling                          a word's vector by its letters
    tokenizer, tokenizer_making       text to ids and back; tokenizers chosen, learned and read
    tokenizer_json, tokenizer_limits  the format tokenizer.json; bounds checked before a library reads it
    image, preparation                pictures cut into patches; how a picture gets its size
    bands                             low and high frequencies of a picture, made of its tokens
    convnet, convnext, stages         features of a ResNet; of a ConvNeXt; patches mixed and merged in stages (Swin)
    picture_text                      a picture and a text in one stream
    field, climate                    fields in space and time; what is usual at each cell
    points                            places as tokens
    graph, graph_embed                nodes and edges; nodes as tokens

Pictures. `PictureEmbed` is what all tokens of pictures share: the scale of numbers, places, class tokens. `PatchEmbed`
cuts and projects, `ConvEmbed` takes the features of a `ConvNet`, `StagedEmbed` mixes and merges patches; its last stage
is the trunk. Places are stretched over the grid that was learned, so pictures of any size and shape are read. Missing
pixels travel beside the pixels (`Picture.missing`): a patch with too few known ones is no real token for a ViT, and is
hidden for an autoencoder. In `PictureTextEmbed` the tokens of a picture and a question read each other; a picture is
embedded once for all its questions (`PictureText.owner`).

Points. A point is a token and a row of a batch, and reads no other: a field is a `Stream` without mixers.
"""
