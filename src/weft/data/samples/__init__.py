"""Data that ships with weft or comes with every Python."""

from weft.data.graphs.graph_set import GraphSet
from weft.data.grids.grid import Fields
from weft.data.images.album import Album, Found
from weft.data.readers.corpus import GivenText
from weft.data.readers.labelled_texts import LabelledTexts
from weft.data.readers.places import Places
from weft.data.readers.tagged_texts import TaggedTexts
from weft.data.readers.word_questions import Analogies
from weft.errors import DataError


def python_topics() -> GivenText:
    """The help texts of Python itself (`help("LAMBDA")` and so on), about half a megabyte."""
    from pydoc_data import topics

    text = "\n\n".join(topics.topics[name].strip("\n") for name in sorted(topics.topics))
    return GivenText("python-topics", text + "\n")


def english_sentences() -> GivenText:
    """The English half of the phrasebook, 40,000 short sentences of our own in random order, one a line."""
    from weft.data.samples.phrasebook import drawn

    train, _ = drawn()
    return GivenText("weft-sentences", "".join(f"{text}\n" for _, _, text in train))


def small_world_sentences() -> GivenText:
    """Sentences about a small world of our own, in which analogies hold: 60,000 short ones, one a line."""
    from weft.data.samples.small_world import drawn_sentences

    return GivenText("weft-small-world", "".join(f"{text}\n" for text in drawn_sentences()))


def small_world_questions() -> Analogies:
    """The analogies that hold in it: capitals, people, young animals, plurals."""
    from weft.data.samples.small_world import questions

    return Analogies(questions())


def labelled_opinions() -> LabelledTexts:
    """2,000 short opinions of our own, half of them positive."""
    from weft.data.samples.opinions import sample_opinions

    return LabelledTexts.given(sample_opinions(), "weft-opinions")


def tagged_names() -> TaggedTexts:
    """2,000 sentences of our own in which persons, places and organisations are tagged."""
    from weft.data.samples.names import sample_names

    return TaggedTexts.given(sample_names(), "weft-names")


def party() -> GraphSet:
    """A graph of our own: 360 guests of four circles, and who knows whom."""
    from weft.data.samples.graphs import sample_party

    return sample_party()


def dice_throws() -> GraphSet:
    """1,200 sets of our own: throws of dice, with or without a pair among them."""
    from weft.data.samples.graphs import sample_throws

    return sample_throws()


def scenes(count: int = 5000, held_out: int = 500, *, seed: int = 1907) -> Found:
    """Scenes of our own: pictures of 48 x 48 pixels with captions, questions, and the regions that their words are about.

    Held-out pictures have colours and shapes that are never together in those to learn from.
    """
    from weft.data.samples.scene_album import sample_scenes

    return Found(sample_scenes(count, seed), sample_scenes(held_out, seed, unseen=True) if held_out else None)


def digits() -> Album:
    """Scikit-learn's digits: 1,797 grey pictures of 8 x 8 pixels, written by 43 people."""
    from weft.data.images.arrays import album_of

    try:
        from sklearn.datasets import load_digits
    except ImportError:
        fix = "install it with: pip install 'weft[samples]', or name a folder of pictures"
        raise DataError("the sample of pictures comes with scikit-learn, which is not installed", fix=fix) from None
    found = load_digits()
    return album_of("digits", (found.images * (255 / 16)).round().astype("uint8"), found.target)


def travelling_waves() -> Fields:
    """An atmosphere of our own: 1,500 fields of height and winds on 24 x 48 cells, with gaps as a satellite leaves them."""
    from weft.data.samples.atmosphere import SampleFields

    return SampleFields()


def woven_picture() -> Places:
    """A picture of our own of 256 x 256 pixels, with fine threads and wide shades."""
    from weft.data.readers.place_grids import picture_places
    from weft.data.samples.tapestry import sample_tapestry

    return picture_places((sample_tapestry(), None), "weft's tapestry")
