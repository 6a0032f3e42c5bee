"""Tagged sentences: columns or JSON, three ways of spelling entities, one way out; what was mended is counted."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.domains.texts.reading.schemes import Entity, as_bio, entities, scheme_of, violations
from weft.domains.texts.reading.tagged import judge, read_tagged
from weft.domains.texts.reading.tagged_texts import Tagged, split_tagged
from weft.errors import ConfigError, DataError
from weft.files.survey import Survey

SENTENCE = [("Ada", "NNP", "B-P"), ("King", "NNP", "I-P"), ("met", "VBD", "O"), ("Bob", "NNP", "B-P"), (".", ".", "O")]
OTHER = [("Rain", "NN", "O"), ("fell", "VBD", "O"), ("on", "IN", "O"), ("Rome", "NNP", "B-L")]
BIO = ("B-P", "I-P", "O", "B-P", "O")


def conll(path: Path, sentences: list[list[tuple[str, ...]]], separator: str = " ", head: str = "") -> Path:
    path.write_text(head + "\n".join("".join(separator.join(row) + "\n" for row in one) for one in sentences))
    return path


@pytest.fixture
def data() -> list[list[tuple[str, ...]]]:
    return [[(f"{w}{i}" if i else w, *rest) for w, *rest in one] for i in range(8) for one in (SENTENCE, OTHER)]


@pytest.mark.parametrize("separator", [" ", "\t", "   "])
def test_the_first_and_the_last_column_are_taken(tmp_path: Path, data, separator: str):
    found = read_tagged(conll(tmp_path / "a.conll", data, separator))
    assert found.sentences[0] == Tagged(("Ada", "King", "met", "Bob", "."), BIO) and len(found) == 16
    assert found.scheme == "BIO" and found.tags == ("O", "B-L", "I-L", "B-P", "I-P") and found.mended == 0
    assert found.kinds == {"P": 16, "L": 8} and "16 sentences, 72 words, 2 kinds of entity (BIO)" in found.report()[0]


def test_a_column_is_chosen_by_number(tmp_path: Path, data):
    path = conll(tmp_path / "a.conll", data)
    found = read_tagged(path, tag=2)
    assert found.scheme == "plain" and found.tags == (".", "IN", "NN", "NNP", "VBD") and found.kinds["VBD"] == 16
    assert read_tagged(path, tag=-2).sentences == found.sentences
    with pytest.raises(DataError, match=r"line 1: 3 columns, but the tag is looked for in column 5"):
        read_tagged(path, tag=5)
    with pytest.raises(ConfigError, match="numbered from 1"):
        read_tagged(path, tag=0)


def test_comments_and_document_starts_are_passed_over_and_told(tmp_path: Path, data):
    data[1].insert(1, ("#", "NN", "O"))
    head = "# a comment\n-DOCSTART- -X- O\n\n"
    found = read_tagged(conll(tmp_path / "a.conll", data, head=head))
    assert len(found) == 16 and "#" in found.sentences[1].words
    assert [note.split(": ")[1] for note in found.notes] == [
        "1 lines of comments skipped",
        "1 marks of a document's start skipped",
    ]


def test_words_with_tags_may_have_any_ending_and_a_mark_behind_each_sentence(tmp_path: Path):
    (tmp_path / "sample.train").write_text("RNN\t名詞\nを\t助詞\n使う\t動詞\n茶\t名詞\nEOS\n" * 12)
    assert judge(Survey([tmp_path / "sample.train"])).level == "sure"
    found = read_tagged(tmp_path / "sample.train")
    assert len(found) == 12 and found.sentences[0].words == ("RNN", "を", "使う", "茶")
    assert found.notes == (f"{tmp_path / 'sample.train'}: 12 marks of a sentence's end skipped",)


def test_universal_dependencies_give_parts_of_speech_of_written_words(tmp_path: Path):
    one = ["1-2\tdel\t_\t_", "1\tde\tde\tADP", "2\tel\tel\tDET", "2.1\tx\tx\tX", "3\tmar\tmar\tNOUN"]
    (tmp_path / "a.conllu").write_text("# text = del mar\n" + "\n\n".join(["\n".join(one)] * 10))
    found = read_tagged(tmp_path / "a.conllu")
    assert found.sentences[0] == Tagged(("de", "el", "mar"), ("ADP", "DET", "NOUN"))
    assert any("20 lines of joined" in note for note in found.notes)


def test_lines_of_json_are_the_same_data(tmp_path: Path, data):
    lines = [json.dumps({"tokens": [row[0] for row in one], "ner_tags": [row[2] for row in one]}) for one in data]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    found, expected = read_tagged(tmp_path / "a.jsonl"), read_tagged(conll(tmp_path / "a.conll", data))
    assert found.sentences == expected.sentences and found.fingerprint == expected.fingerprint


@pytest.mark.parametrize(
    "line, problem",
    [
        ('{"tokens": ["a", "b"], "tags": ["O"]}', "2 words, but 1 tags"),
        ('{"tokens": ["a", 1.5], "tags": ["O", "O"]}', '"tokens" has a number in it'),
        ('{"tokens": "a", "tags": ["O"]}', '"tokens" is a string, expected a list'),
        ('{"text": "a"}', "no field \"tokens\"; its fields: 'text'"),
    ],
)
def test_json_that_does_not_fit_is_named(tmp_path: Path, line: str, problem: str):
    (tmp_path / "a.jsonl").write_text(line)
    with pytest.raises(DataError, match="line 1") as found:
        read_tagged(tmp_path / "a.jsonl")
    assert problem in str(found.value)


def test_a_line_that_does_not_fit_is_named_and_costs_its_sentence(tmp_path: Path, data):
    data[2][1] = ("King", "I-P")
    path = conll(tmp_path / "a.conll", data)
    with pytest.raises(DataError, match=r"line 13: 2 columns, expected 3"):
        read_tagged(path)
    found = read_tagged(path, skip=1)
    assert len(found) == 15 and found.bad == 1 and "line 13" in found.skipped[0][0]


def test_words_without_tags_too_few_sentences_and_one_tag_are_refused(tmp_path: Path, data):
    with pytest.raises(DataError, match="a word without a tag: 'Ada'"):
        read_tagged(conll(tmp_path / "a.conll", [[(row[0],) for row in one] for one in data]))
    with pytest.raises(DataError, match="2 tagged sentences are too few: at least 10"):
        read_tagged(conll(tmp_path / "b.conll", data[:2]))
    with pytest.raises(DataError, match="every word has the same tag, 'O'"):
        read_tagged(conll(tmp_path / "c.conll", [[(row[0], "O") for row in one] for one in data]))
    with pytest.raises(DataError, match="does not look like tags"):
        read_tagged(conll(tmp_path / "d.conll", [[(r[0], f"{r[0]}{i}") for r in one] for i, one in enumerate(data)]))
    with pytest.raises(DataError, match="0 tagged sentences"):
        read_tagged(conll(tmp_path / "e.conll", []))
    assert len(read_tagged(tmp_path / "b.conll", learn=False)) == 2


# Schemes

SPELLED = {
    "BIO": ("B-P", "I-P", "B-P", "O", "B-L"),
    "IOB1": ("I-P", "I-P", "B-P", "O", "I-L"),
    "IOBES": ("B-P", "E-P", "S-P", "O", "S-L"),
}


@pytest.mark.parametrize("scheme", SPELLED)
def test_all_schemes_spell_the_same_entities(scheme: str):
    found = entities(SPELLED[scheme])
    assert (
        found == (Entity(0, 2, "P"), Entity(2, 3, "P"), Entity(4, 5, "L")) and violations(SPELLED[scheme], scheme) == 0
    )
    assert scheme_of([SPELLED[scheme]]) == scheme and as_bio(found, 5) == SPELLED["BIO"]


@given(st.lists(st.sampled_from(["O", *(f"{p}-{k}" for p in "BIESLU" for k in "XY")]), max_size=12))
def test_any_tags_become_clean_bio_that_spells_the_same(tags: list[str]):
    clean = as_bio(entities(tags), len(tags))
    assert violations(clean, "BIO") == 0 and entities(clean) == entities(tags)
    assert [tag == "O" for tag in clean] == [tag == "O" for tag in tags]


@pytest.mark.parametrize(
    "tags, scheme, count",
    [
        ("O I-X O", "BIO", 1),
        ("B-X I-Y", "BIO", 1),
        ("B-X I-X B-X", "BIO", 0),
        ("O B-X", "IOB1", 1),
        ("I-X B-X", "IOB1", 0),
        ("B-X O", "IOBES", 1),
        ("O E-X", "IOBES", 1),
        ("B-X I-X", "IOBES", 1),
        ("B-X I-X L-X U-Y", "IOBES", 0),
    ],
)
def test_what_breaks_a_scheme_is_counted(tags: str, scheme: str, count: int):
    assert violations(tags.split(), scheme) == count


def test_broken_and_oddly_written_tags_are_mended_and_counted(tmp_path: Path, data):
    data[0][0] = ("Ada", "NNP", "I-P")
    data[1][3] = ("Rome", "NNP", "b-L")
    found = read_tagged(conll(tmp_path / "a.conll", data))
    assert found.sentences[0].tags == BIO and found.sentences[1].tags[3] == "B-L" and found.mended == 2
    assert any("break the rules of BIO: 2; they are corrected" in line for line in found.report())


def test_parts_of_speech_are_no_entities():
    assert scheme_of([("NN", "-LRB-", "B"), ("I-X", "O")]) == "plain" and scheme_of([("O", "O")]) == "plain"


# Holding out and recognition


def looks_tagged(path: Path) -> bool:
    return judge(Survey([path])).level == "sure"


def test_a_split_follows_the_words_and_parts_no_equal_sentences(tmp_path: Path, data):
    sentences = read_tagged(conll(tmp_path / "a.conll", data)).sentences
    split = split_tagged([*sentences, *sentences], 0.25)
    assert len(split.held_out) == 8 and "8 of 32 sentences" in split.rule
    assert not {s.words for s in split.train} & {s.words for s in split.held_out}
    assert set(split_tagged(sentences[::-1], 0.25).held_out) == set(split.held_out)
    with pytest.raises(DataError, match="too few to hold some out"):
        split_tagged(sentences[:1])


def test_tagged_files_are_recognised(tmp_path: Path, data):
    assert looks_tagged(conll(tmp_path / "a.txt", data)) and looks_tagged(conll(tmp_path / "a.tsv", data, "\t"))
    assert looks_tagged(conll(tmp_path / "a.conll", data[:1]))
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a", "b"], "tags": ["X", "Y"]}\n')
    assert looks_tagged(tmp_path / "a.jsonl")


def test_other_files_are_not(tmp_path: Path):
    (tmp_path / "a.txt").write_text("It was the best of times,\n\nit was the worst of times.\n" * 20)
    (tmp_path / "b.tsv").write_text("pos\tgood tea\nneg\tbad tea\n" * 20)
    (tmp_path / "c.tsv").write_text("Go.\tGeh.\n\nHi.\tHallo.\n\n" * 20)
    (tmp_path / "d.jsonl").write_text('{"text": "a", "label": "b"}\n' * 20)
    (tmp_path / "e.txt").write_text("to be\nor not\nto be\nthat is\n\nthe question\nof all\nthe days\nwe had\n" * 9)
    assert not any(looks_tagged(path) for path in sorted(tmp_path.iterdir()))


def test_folders_leave_out_what_does_not_look_tagged(tmp_path: Path, data):
    conll(tmp_path / "a.txt", data)
    (tmp_path / "readme.txt").write_text("These are sentences.\n")
    found = read_tagged(tmp_path)
    assert len(found) == 16 and [Path(name).name for name, _ in found.skipped] == ["readme.txt"]
