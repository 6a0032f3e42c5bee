"""The one split: what is held out is a pure function of the contents, and stays what it was for runs already begun."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.domains.pairs.reading.texts import Pair, split_pairs
from weft.domains.texts.reading.labelled_texts import Example, split_labelled
from weft.domains.texts.reading.tagged_texts import Tagged, split_tagged
from weft.errors import ConfigError, DataError
from weft.files.bad_rows import BadRows, check_bad
from weft.files.held_out import held_digests

PAIRS_HELD = [f"source {i}" for i in (30, 7, 37, 4, 3, 36, 22, 34)]  # in order of their hash
TEXTS_HELD = [f"Text  {i}" for i in (13, 19, 26, 30)]
TAGGED_HELD = [f"Word{i}" for i in (2, 8, 14, 27)]


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def test_the_rows_held_out_are_those_that_always_were():
    pairs = split_pairs([Pair(f"source {i}", "t") for i in range(40)])
    assert [held.source for held in pairs.held_out] == PAIRS_HELD
    texts = split_labelled([Example(f"Text  {i}", "ab"[i % 3 == 0]) for i in range(40)])
    assert [row.text for row in texts.held_out] == TEXTS_HELD
    tagged = split_tagged([Tagged((f"Word{i}", "x"), ("O", "O")) for i in range(40)])
    assert [row.words[0] for row in tagged.held_out] == TAGGED_HELD


@given(st.lists(st.tuples(st.text("abcd", max_size=2), st.sampled_from("xyz"))), st.sampled_from([0.1, 0.4, 0.9]))
def test_every_group_of_two_gives_some_and_keeps_some(rows: list[tuple[str, str]], share: float):
    digests, groups = [digest(text) for text, _ in rows], [group for _, group in rows]
    first: dict[bytes, str] = {}
    for one, group in zip(digests, groups, strict=True):
        first.setdefault(one, group)
    sizes = {group: sum(of == group for of in first.values()) for group in first.values()}
    if max(sizes.values(), default=0) < 2:
        with pytest.raises(DataError, match="different things are too few to hold some out"):
            held_digests(digests, share, what="things", groups=groups)
        return
    held = held_digests(digests, share, what="things", groups=groups)
    assert held == sorted(set(held))
    for group, size in sizes.items():
        count = sum(first[one] == group for one in held)
        assert count == (min(max(1, round(share * size)), size - 1) if size > 1 else 0)


def test_odd_shares_and_numbers_are_refused():
    for share, most in ((0.0, None), (1.0, None), (0.5, 0)):
        with pytest.raises(ConfigError):
            held_digests([digest("a"), digest("b")], share, what="things", most=most)


# Bad rows


def test_bad_rows_are_refused_at_once_or_counted_up_to_a_number_or_a_share():
    error = DataError("no label", where="a.csv, line 3", fix="add one")
    with pytest.raises(DataError, match="or leave out up to 100 bad rows"):
        BadRows(None).take(error)
    some = BadRows(1)
    some.take(error)
    assert some.listed() == [("a.csv, line 3", "no label")]
    with pytest.raises(DataError, match="bad rows: 2 so far, allowed: 1; the first: no label"):
        some.take(error)
    share = BadRows(0.5)
    share.take(error)
    share.check(good=1)
    with pytest.raises(DataError, match=r"1 \(100.00%\), allowed: 50.00%"):
        share.check(good=0)
    for odd in (-1, 1.5, True):
        with pytest.raises(ConfigError, match="expected a number of rows or a share"):
            BadRows(odd)


def test_one_picture_in_a_hundred_may_be_bad_and_always_one():
    bad = [(f"{i}.png", "0 bytes") for i in range(12)]
    check_bad(bad[:1], 5, None, "photos")
    check_bad(bad, 1200, None, "photos")
    with pytest.raises(DataError, match=r"12 of 1000 pictures cannot be used, allowed: 10:(.|\n)*and 2 more"):
        check_bad(bad, 1000, None, "photos")
