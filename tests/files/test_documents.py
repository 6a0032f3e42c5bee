from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.errors import DataError
from weft.files import po
from weft.files.documents import Document, units

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

SUBTITLES = """1
00:00:01,000 --> 00:00:04,000
My house is
tiny.

2
00:00:05.000 --> 00:01:06.5  X1:40 X2:600
{\\an8}<i>- Are you there?
- No.</i>

3
00:00:07,000 --> 00:00:08,000

4
00:00:09,000 --> 00:00:10,000
1984
"""

CATALOGUE = r"""# Translators: keep this line
msgid ""
msgstr ""
"Language: fr\n"
"Plural-Forms: nplurals=3; plural=n;\n"

#: src/a.c:1
#, c-format
msgctxt "menu"
msgid "Open \"%s\"\n"
msgstr ""

msgid "Close"
msgstr "Fermer"

#, fuzzy
msgid "Save"
msgstr "Sauver"

msgid "one file"
msgid_plural "%d files"
msgstr[0]   "un fichier"
msgstr[1] ""
msgstr[2] ""
""

msgid " "
msgstr ""

#~ msgid "gone"
#~ msgstr ""
"""


def write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def same(document: Document, data: bytes) -> bool:
    return document.with_texts(document.texts).encode("utf-8") == data


def saved(text: str) -> list[bytes]:
    return [
        text.encode(),
        text.replace("\n", "\r\n").encode(),
        text.replace("\n", "\r").encode(),
        text.replace("\n", "\r\n", 3).encode(),
        b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        text.rstrip("\n").encode(),
        b"",
    ]


# Plain text


def test_a_line_of_text_is_a_unit_and_blank_lines_stay(tmp_path: Path) -> None:
    text = "Hello.\n\n\tIndented \u00a0\n   \nsame\u2028line\x85 too\n"
    for data in saved(text):
        document = units(write(tmp_path / "a.txt", data))
        assert document.texts == (["Hello.", "Indented", "same\u2028line\x85 too"] if data else [])
        assert same(document, data)
    document = units(write(tmp_path / "a.txt", "\ufeffone\r\n\r\n  two"))
    assert document.with_texts(["un", "deux\n trois\r\n"]) == "\ufeffun\r\n\r\n  deux trois"
    with pytest.raises(ValueError, match="expected 2 texts, found 1"):
        document.with_texts(["un"])


@quick
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40))
def test_text_is_given_back_byte_for_byte(tmp_path: Path, text: str) -> None:
    assert same(units(write(tmp_path / "a.txt", text)), text.encode())


# Subtitles


def test_a_cue_is_a_unit_and_times_stay(tmp_path: Path) -> None:
    for data in saved(SUBTITLES):
        document = units(write(tmp_path / "a.srt", data))
        assert document.texts == (["My house is tiny.", "- Are you there? - No.", "1984"] if data else [])
        assert same(document, data)


def test_a_translated_cue_keeps_its_number_of_lines_and_markup(tmp_path: Path) -> None:
    document = units(write(tmp_path / "a.srt", SUBTITLES.replace("\n", "\r\n")))
    new = document.with_texts(["Ma maison est\n\nminuscule.", "- Tu es là ? - Non.", "--> 1984"])
    expected = SUBTITLES.replace("My house is\ntiny.", "Ma maison est\nminuscule.").replace("1984", "-> 1984")
    expected = expected.replace("Are you there?", "Tu es là ?").replace("No.", "Non.")
    assert new == expected.replace("\n", "\r\n")
    write(tmp_path / "b.srt", new)
    assert units(tmp_path / "b.srt").texts == ["Ma maison est minuscule.", "- Tu es là ? - Non.", "-> 1984"]
    assert document.with_texts(["", "", ""]).count("-->") == 4


def test_blank_lines_inside_a_cue_and_missing_numbers_are_borne(tmp_path: Path) -> None:
    text = "\n00:00:01,000 --> 00:00:02,000\n\none\n\ntwo\n\n\n2\n00:00:03,000 --> 00:00:04,000\n<i></i>\n"
    document = units(write(tmp_path / "a.srt", text))
    assert document.texts == ["one two"] and same(document, text.encode())
    assert document.with_texts(["un deux"]) == text.replace("one\n\ntwo", "un\ndeux")


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("1\n00:00:01 -> 2\nHi\n", 1, "text before the first cue: '1'"),
        ("1\n00:00:01,000 --> 00:00\nHi\n", 2, "not the times of a cue"),
        ("WEBVTT\n\n1\n00:00:01,000 --> 00:00:02,000\nHi\n", 1, "text before the first cue: 'WEBVTT'"),
        (SUBTITLES + "\n5\n00:00:11,000 --> 00:00;12,000\nHi\n", 19, "not the times of a cue"),
    ],
)
def test_damaged_subtitles_are_refused(tmp_path: Path, text: str, line: int, part: str) -> None:
    path = write(tmp_path / "a.srt", text)
    with pytest.raises(DataError) as caught:
        units(path)
    assert f"{path}, line {line}" in str(caught.value) and part in str(caught.value) and caught.value.fix


words = st.text("ab <>i/{}\\-é\u00a0", max_size=12).filter(lambda t: "-->" not in t)
cues = st.lists(st.lists(words, max_size=3), min_size=1, max_size=4)


@quick
@given(cues, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "\ufeff"]), st.data())
def test_subtitles_are_given_back_byte_for_byte_and_keep_their_cues(
    tmp_path: Path, cues: list[list[str]], newline: str, mark: str, data: st.DataObject
) -> None:
    head = "{}\n00:00:01,000 --> 00:00:02,000\n"
    text = "\n".join(head.format(i) + "".join(line + "\n" for line in cue) for i, cue in enumerate(cues, 1))
    raw = (mark + text.replace("\n", newline)).encode()
    document = units(write(tmp_path / "a.srt", raw))
    assert same(document, raw)
    new = [f"{data.draw(words)}x" for _ in document.texts]
    changed = units(write(tmp_path / "b.srt", document.with_texts(new)))
    assert len(changed.texts) == len(new)
    kept = document.with_texts(new).removeprefix(mark).split(newline)
    heads = [[line for line in lines if "-->" in line or line.isdigit()] for lines in (text.split("\n"), kept)]
    assert heads[0] == heads[1]


# Message catalogues


def meaning(text: str) -> list[tuple[object, ...]]:
    entries = po.parse(text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"), "test")
    return [(e.context, e.id, e.plural, e.strings, e.fuzzy, e.obsolete) for e in entries]


def test_empty_messages_are_filled_and_all_else_stays(tmp_path: Path) -> None:
    for data in saved(CATALOGUE)[:-1]:
        document = units(write(tmp_path / "fr.po", data))
        assert document.texts == ['Open "%s"', "%d files"]
        new = document.with_texts(["Ouvrir « %s »", "%d fichiers\n\\"])
        expected = CATALOGUE.replace('%s\\"\\n"\nmsgstr ""', '%s\\"\\n"\nmsgstr "Ouvrir « %s »\\n"')
        filled = '""\n"%d fichiers\\n"\n"\\\\"'
        expected = expected.replace('msgstr[1] ""', f"msgstr[1] {filled}").replace(
            'msgstr[2] ""\n""', f"msgstr[2] {filled}"
        )
        expected = expected.rstrip("\n") if not data.endswith((b"\n", b"\r")) else expected
        newlines = new.replace("\r\n", "\n").replace("\r", "\n")
        assert newlines.removeprefix("\ufeff") == expected
        assert new.startswith("\ufeff") == data.startswith(b"\xef\xbb\xbf")
        if data.count(b"\r\n") > 3:
            assert new.count("\r\n") == new.count("\n")


def test_every_message_can_be_translated_anew(tmp_path: Path) -> None:
    document = units(write(tmp_path / "fr.po", CATALOGUE), every=True)
    assert document.texts == ['Open "%s"', "Close", "Save", "one file", "%d files"]
    strings = [entry[3] for entry in meaning(document.with_texts(document.texts))]
    assert strings[1:-2] == [
        {0: 'Open "%s"\n'},
        {0: "Close"},
        {0: "Save"},
        {0: "one file", 1: "%d files", 2: "%d files"},
    ]
    others = [entry[:3] + entry[4:] for entry in meaning(CATALOGUE)]
    assert [entry[:3] + entry[4:] for entry in meaning(document.with_texts(["x"] * 5))] == others
    assert meaning(units(write(tmp_path / "done.po", 'msgid "a"\nmsgstr "b"\n')).with_texts([])) == [
        (None, "a", None, {0: "b"}, False, False)
    ]


any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), min_size=1, max_size=12)
messages = st.lists(st.tuples(st.none() | any_text, any_text, st.none() | any_text), min_size=1, max_size=4)


@quick
@given(messages, st.sampled_from(["\n", "\r\n"]))
def test_messages_are_given_back_with_the_same_meaning(
    tmp_path: Path, messages: list[tuple[str | None, str, str | None]], newline: str
) -> None:
    text = ""
    for context, one, many in messages:
        text += f"# note{newline}"
        text += f"msgctxt {po.quoted(context, newline)}{newline}" if context is not None else ""
        text += f"msgid {po.quoted(one, newline)}{newline}"
        text += f"msgid_plural {po.quoted(many, newline)}{newline}" if many is not None else ""
        forms = ("msgstr[0]", "msgstr[1]") if many is not None else ("msgstr",)
        text += "".join(f'{form} ""{newline}' for form in forms) + newline
    document = units(write(tmp_path / "a.po", text.encode()))
    expected = []
    for context, one, many in messages:
        forms = {0: one} if many is None else {0: one, 1: many}
        expected.append((context, one, many, {n: t if t.strip() else "" for n, t in forms.items()}, False, False))
    assert meaning(document.with_texts(document.texts)) == expected


# Files


def test_other_files_are_refused(tmp_path: Path) -> None:
    for name, data, part in (
        ("a.docx", b"x", "not a document that can be translated"),
        ("a.txt.gz", b"x", "not a document that can be translated"),
        ("a.txt", "é".encode("latin-1"), "line 1: byte 0xE9"),
        ("b.srt", SUBTITLES.encode("utf-16-le"), "UTF-16LE"),
        ("c.po", b'msgid "a\n', "line 1: the quote is not closed"),
    ):
        with pytest.raises(DataError) as caught:
            units(write(tmp_path / name, data))
        assert str(tmp_path / name) in str(caught.value) and part in str(caught.value)
    with pytest.raises(DataError, match="cannot be read"):
        units(tmp_path / "nowhere.txt")
