"""The widths of vectors of words."""

from weft.tasks.preset import Preset

FORM = "{depth} vector for each word, {dim} wide"
WORDS = {
    "tiny": Preset(dim=32, depth=1, note=": trains in seconds"),
    "mini": Preset(dim=50, depth=1),
    "small": Preset(dim=100, depth=1),
    "base": Preset(dim=300, depth=1, note=" (as the published word2vec and GloVe)"),
}
