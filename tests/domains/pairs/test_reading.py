import csv
import gzip
import io
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.domains.pairs.reading import tmx
from weft.domains.pairs.reading.pairs import read_pairs
from weft.domains.pairs.reading.parallel import departure
from weft.domains.pairs.reading.suspects import swapped
from weft.domains.pairs.reading.texts import Held, Pair, Pairs, overlap, split_pairs
from weft.errors import ConfigError, DataError
from weft.files import decoding, po, roles
from weft.files.columns import columns_of
from weft.files.known_roles import PAIR
from weft.files.languages import language, languages_of_file

ROWS = [
    ("Hello.", "Bonjour."),
    ('He said "yes", twice.', "Il a dit « oui », deux fois."),
    ("My house is tiny.", "Ma maison est minuscule."),
    ("It's 5 o'clock.", "Il est 5 heures."),
]
SHARED = Path(__file__).parents[4] / "shared/data/translation"


def is_header(cells: Sequence[str], source: str | None, target: str | None) -> bool:
    return roles.is_header(cells, [], PAIR, (source, target), doubtful=False)


def choose(names: list[str | None], source: str | None, target: str | None, *, where: str) -> tuple[int, ...]:
    return roles.choose(columns_of(names, []), PAIR, (source, target), where=where, fix="").places


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def tsv(rows: list[tuple[str, ...]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def as_csv(rows: list[tuple[str, ...]], **options: str) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n", **options).writerows(rows)
    return buffer.getvalue()


def as_jsonl(rows: list[tuple[str, ...]], first: str = "source", second: str = "target") -> str:
    return "".join(json.dumps({first: a, second: b}) + "\n" for a, b in rows)


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def as_tmx(rows: list[tuple[str, ...]], first: str = "en", second: str = "fr", head: str = "en") -> str:
    units = "".join(
        f'<tu>\n<tuv xml:lang="{first}"><seg>{escaped(a)}</seg></tuv>\n'
        f'<tuv xml:lang="{second}"><seg>{escaped(b)}</seg></tuv>\n</tu>\n'
        for a, b in rows
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
        f'<tmx version="1.4">\n<header srclang="{head}"/>\n<body>\n{units}</body></tmx>\n'
    )


def as_po(rows: list[tuple[str, ...]]) -> str:
    entries = "".join(f"msgid {po.quoted(a, chr(10))}\nmsgstr {po.quoted(b, chr(10))}\n\n" for a, b in rows)
    return f'msgid ""\nmsgstr "Language: fr\\n"\n\n{entries}'


def texts(pairs: Pairs) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


def refused(*sources: Path, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read_pairs(list(sources), **options)
    assert caught.value.fix, "every error says what to do"
    return str(caught.value)


FORMATS = {
    "plain.tsv": tsv(ROWS),
    "header.tsv": tsv([("source", "target"), *ROWS]),
    "languages.tsv": tsv([("English", "French"), *ROWS]),
    "plain.csv": as_csv(ROWS),
    "header.csv": as_csv([("src", "tgt"), *ROWS]),
    "semicolons.csv": as_csv([("en", "fr"), *ROWS], delimiter=";"),
    "source.jsonl": as_jsonl(ROWS),
    "short.jsonl": as_jsonl(ROWS, "src", "tgt"),
    "codes.jsonl": as_jsonl(ROWS, "en", "fr"),
    "opus.jsonl": "".join(
        json.dumps({"id": i, "translation": {"en": a, "fr": b}}) + "\n" for i, (a, b) in enumerate(ROWS)
    ),
    "memory.tmx": as_tmx(ROWS),
    "catalogue.po": as_po(ROWS),
}


# Formats


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_rows_however_it_was_saved(tmp_path: Path, name: str) -> None:
    text = FORMATS[name]
    expected = read_pairs(write(tmp_path / "expected.tsv", tsv(ROWS)))
    saved = {
        "clean": text.encode(),
        "mark": b"\xef\xbb\xbf" + text.encode(),
        "crlf": text.replace("\n", "\r\n").encode(),
        "cr": text.replace("\n", "\r").encode(),
        "open end": text.rstrip("\n").encode(),
    }
    for folder, data in saved.items():
        for path in (
            write(tmp_path / folder / name, data),
            write(tmp_path / folder / f"{name}.gz", gzip.compress(data)),
        ):
            pairs = read_pairs([path])
            assert texts(pairs) == ROWS, path
            assert pairs.fingerprint == expected.fingerprint
            assert [(file.path, file.rows) for file in pairs.files] == [(path, len(ROWS))]


def test_two_parallel_files_are_read_side_by_side(tmp_path: Path) -> None:
    expected = read_pairs(write(tmp_path / "expected.tsv", tsv(ROWS))).fingerprint
    sides = ["\n".join(side) for side in zip(*ROWS, strict=True)]
    for names in (("c.en", "c.fr"), ("c.en.txt", "c.fr.txt"), ("en.txt", "fr.txt"), ("c-en.txt", "c-fr.txt")):
        paths = [write(tmp_path / name, side) for name, side in zip(names, sides, strict=True)]
        pairs = read_pairs(paths)
        assert texts(pairs) == ROWS and pairs.columns == ("en", "fr") and pairs.fingerprint == expected
        assert [file.path for file in pairs.files] == paths
        turned = read_pairs(paths, source="fr")
        assert texts(turned) == [(b, a) for a, b in ROWS] and turned.columns == ("fr", "en")
    first = write(tmp_path / "a.txt", "\ufeff" + sides[0].replace("\n", "\r\n"))
    second = write(tmp_path / "b.txt.gz", gzip.compress((sides[1] + "\n").encode()))
    pairs = read_pairs([first, second])
    assert pairs.columns == ("a.txt", "b.txt.gz") and pairs.fingerprint == expected


def test_a_folder_is_read_whole_and_what_is_left_out_is_listed(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", tsv(ROWS[:1]))
    write(tmp_path / "b/c.jsonl", as_jsonl(ROWS[1:3]))
    write(tmp_path / "d.po.gz", gzip.compress(as_po(ROWS[3:]).encode()))
    write(tmp_path / "notes.txt", "not pairs")
    pairs = read_pairs(tmp_path)
    assert texts(pairs) == ROWS
    assert [file.rows for file in pairs.files] == [1, 2, 1]
    assert {Path(name).name for name, _ in pairs.skipped} == {"notes.txt", "d.po.gz"}


def test_lines_end_where_editors_end_them(tmp_path: Path) -> None:
    rows = [("a\x85b\u2028c", "d\x0be"), ("f", "g")]
    assert texts(read_pairs(write(tmp_path / "a.tsv", tsv(rows)))) == rows
    assert texts(read_pairs(write(tmp_path / "a.csv", as_csv(rows)))) == rows


def test_white_space_around_a_text_goes_and_inside_it_stays(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", '" one  two ","trois\n quatre\n"\n')
    assert texts(read_pairs(path)) == [("one  two", "trois\n quatre")]


def test_quotes_in_tsv_are_characters(tmp_path: Path) -> None:
    rows = [('"One', "« Un"), ('"Two" "three"', '"deux'), ("four", "quatre")]
    assert texts(read_pairs(write(tmp_path / "a.tsv", tsv(rows)))) == rows


# Columns


def test_columns_are_chosen_by_header_name_number_or_order(tmp_path: Path) -> None:
    rows = [("1", "one", "un", "eins"), ("2", "two", "deux", "zwei")]
    path = write(tmp_path / "a.tsv", tsv([("id", "English", "text_fr", "de-AT"), *rows]))
    assert texts(read_pairs(path)) == [("one", "un"), ("two", "deux")]
    pairs = read_pairs(path, source="de", target="en")
    assert texts(pairs) == [("eins", "one"), ("zwei", "two")] and pairs.columns == ("de", "en")
    assert "columns 4 and 2 of 4" in pairs.notes[0] and "line 1 names the columns" in pairs.notes[0]
    assert texts(read_pairs(path, source=3, target="german")) == [("un", "eins"), ("deux", "zwei")]
    assert texts(read_pairs(path, target="de")) == [("one", "eins"), ("two", "zwei")]
    bare = write(tmp_path / "b.tsv", tsv(rows))
    pairs = read_pairs(bare)
    assert texts(pairs) == [("1", "one"), ("2", "two")] and pairs.columns == ("column 1", "column 2")
    assert "no header" in pairs.notes[0] and "columns 1 and 2 of 4" in pairs.notes[0]
    assert texts(read_pairs(bare, source=2, target="4")) == [("one", "eins"), ("two", "zwei")]
    named = write(tmp_path / "c.csv", as_csv([("Satz", "Nr", "Übertragung"), ("a", "1", "b")]))
    assert texts(read_pairs(named, source="satz", target="Übertragung")) == [("a", "b")]


def test_a_file_name_gives_languages_to_columns_without_a_header(tmp_path: Path) -> None:
    rows = [("one", "eins", "un")]
    pairs = read_pairs(write(tmp_path / "train.en-de-fr.tsv.gz", gzip.compress(tsv(rows).encode())), target="fr")
    assert texts(pairs) == [("one", "un")] and pairs.columns == ("en", "fr")
    assert "the file's name gives the languages" in pairs.notes[0]
    assert languages_of_file("multi30k.train.en-de-fr", 2) == [None, None]
    assert languages_of_file("pairs_en_fr", 2) == ["en", "fr"]
    assert languages_of_file("pairs", 2) == languages_of_file("en-en", 2) == [None, None]


def test_languages_are_known_by_codes_tags_and_names() -> None:
    for name in ("en", "EN", "en-US", "en_GB", "eng", "English", "text_en", "sentence en"):
        assert language(name) == "en", name
    assert language("zh-Hans-CN") == language("中文") == language("cmn") == "zh"
    for name in ("", None, "hello", "is_valid", "no_of_words", "xx", "source"):
        assert language(name) is None, name
    assert is_header(["source", "target"], None, None) and is_header(["id", "en", "tgt"], None, None)
    assert not is_header(["no", "no"], None, None) and not is_header(["Hello", "Bonjour"], None, None)
    assert choose(["id", "en", "fr"], None, None, where="") == (1, 2)
    assert choose(["en", "id"], None, None, where="") == (0, 1)
    assert choose(["target", "note", "source"], None, None, where="") == (2, 0)
    assert choose([None, None, None], None, "1", where="") == (1, 0)


def test_columns_that_are_not_there_are_refused_with_those_that_are(tmp_path: Path) -> None:
    header = write(tmp_path / "a.tsv", tsv([("en", "fr"), ("one", "un")]))
    bare = write(tmp_path / "b.tsv", tsv([("one", "un")]))
    single = write(tmp_path / "c.tsv", "one\ntwo\n")
    for path, asked, part in (
        (header, {"target": "frr"}, "no column 'frr'; its columns: 'en', 'fr'"),
        (header, {"target": "3"}, "no column '3'"),
        (header, {"source": "fr", "target": 2}, "source and target are both column 2"),
        (bare, {"source": "en"}, "no column 'en'; it has 2 columns without names"),
        (single, {}, "1 column, expected at least 2"),
    ):
        message = refused(path, **asked)
        assert f"{path}, line 1" in message and part in message
    twice = write(tmp_path / "d.tsv", tsv([("en-US", "en-GB", "fr"), ("a", "b", "c")]))
    assert "2 columns are named 'en'" in refused(twice, source="en")
    assert texts(read_pairs(twice, source="en-GB", target="fr")) == [("b", "c")]


def test_languages_are_not_mixed(tmp_path: Path) -> None:
    write(tmp_path / "a.tmx", as_tmx(ROWS))
    write(tmp_path / "b.en-de.tsv", tsv([("one", "eins")]))
    message = refused(tmp_path)
    assert "b.en-de.tsv: holds en -> de" in message and "a.tmx holds en -> fr" in message
    write(tmp_path / "b.en-de.tsv", tsv([("source", "target"), ("one", "un")]))
    assert read_pairs(tmp_path).columns == ("en", "fr")


# Lines of JSON


def test_json_fields_are_chosen_by_the_first_good_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", 'oops\n\n{"note": "x", "fr": "un", "en": "one"}\n{"en": "two", "fr": "deux"}\n')
    pairs = read_pairs(path, source="en", target="fr", skip=1)
    assert texts(pairs) == [("one", "un"), ("two", "deux")] and pairs.counts.bad == 1
    assert "the fields 'en' and 'fr' of 3" in pairs.notes[0]
    named = write(tmp_path / "b.jsonl", '{"question": "a", "reply": "b"}\n')
    assert "no source and target among its fields: 'question', 'reply'" in refused(named)
    assert texts(read_pairs(named, source="question", target="reply")) == [("a", "b")]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ('{"source": "a", "target": "b"', "not valid JSON at column"),
        ("plain text", "not valid JSON at column 1"),
        ('{"source": "a", "target": null}', 'the field "target" is null'),
        ('{"source": 5, "target": "b"}', 'the field "source" is a number'),
        ('{"source": "a", "target": ["b"]}', 'the field "target" is a list'),
        ('{"source": "a"}', "no field \"target\"; its fields: 'source'"),
        ('{"source": "a", "target": "b", "target": "c"}', "the key 'target' stands twice"),
        ('{"source": "a", "target": NaN}', "NaN is not a number"),
        ('{"source": "a", "target": "\\ud83d"}', "half of a surrogate pair"),
        ('["a", "b"]', "expected an object, found a list"),
        ('{"source": "a", "target": ""}', "the target is blank"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_line_of_json_is_named(tmp_path: Path, line: str, part: str) -> None:
    good = as_jsonl(ROWS)
    path = write(tmp_path / "a.jsonl", good + line + "\n" + good)
    message = refused(path)
    assert f"{path}, line 5" in message and part in message
    pairs = read_pairs(path, skip=1)
    assert texts(pairs) == ROWS * 2 and pairs.counts.bad == 1
    assert any(where.endswith("line 5") and part in problem for where, problem in pairs.skipped)


# Translation memories


def test_memories_lose_their_codes_and_keep_their_words(tmp_path: Path) -> None:
    rows = "<bpt i='1'>&lt;b&gt;<sub>x</sub> y</bpt>Bold<ept i='1'>&lt;/b&gt;</ept> and\n   "
    rows += "<hi>plain</hi> <ph/>text &amp; more"
    path = write(tmp_path / "a.tmx", as_tmx([("X", "gras\u00a0!")]).replace("X", rows))
    assert texts(read_pairs(path)) == [("Bold and plain text & more", "gras\u00a0!")]


def test_memories_of_several_languages_ask_which(tmp_path: Path) -> None:
    unit = '<tu><tuv xml:lang="en-US"><seg>one</seg></tuv><tuv xml:lang="DE"><seg>eins</seg></tuv>{}</tu>'
    french = '<tuv lang="fr-FR"><seg>un</seg></tuv><tuv lang="fr-CA"><seg>une</seg></tuv>'
    body = unit.format("") + unit.format(french)
    path = write(tmp_path / "a.tmx", f'<tmx><header srclang="*all*"/><body>{body}</body></tmx>')
    assert "3 languages: en-US (2), DE (2), fr-FR (1), fr-CA (1)" in refused(path)
    pairs = read_pairs(path, source="en", target="fr")
    assert texts(pairs) == [("one", "un"), ("one", "une")] and pairs.columns == ("en", "fr")
    assert (str(path), "1 of its entries: without one of the two languages") in pairs.skipped
    assert texts(read_pairs(path, source="fr-FR", target="fr-CA")) == [("un", "une")]
    assert "no column 'it'" in refused(path, source="it", target="en")
    assert "both" in refused(path, source="fr", target="fr-CA")


def test_the_header_of_a_memory_names_the_source(tmp_path: Path) -> None:
    pairs = read_pairs(write(tmp_path / "a.tmx", as_tmx(ROWS, head="fr-FR")))
    assert texts(pairs) == [(b, a) for a, b in ROWS] and pairs.columns == ("fr", "en")


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
BOMBS = {
    "laughs": f'<!DOCTYPE tmx [<!ENTITY l0 "lol">{LAUGHS}]><tmx><body>&l9;</body></tmx>',
    "file": '<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]><tmx>&x;</tmx>',
    "parameter": '<!DOCTYPE tmx [<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;]><tmx/>',
    "plain": '<!DOCTYPE tmx [<!ENTITY x "y">]><tmx/>',
    "unknown": '<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx><body>&nbsp;</body></tmx>',
}


@pytest.mark.parametrize("name", BOMBS)
def test_entities_are_refused_at_once(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "a.tmx", BOMBS[name])
    start = time.perf_counter()
    message = refused(path)
    assert time.perf_counter() - start < 1
    assert "entities are refused" in message and f"{path}, line 1" in message


def test_memories_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmx, "MAX_SEGMENT", 100)
    monkeypatch.setattr(tmx, "MAX_TOKEN", 10_000)
    monkeypatch.setattr(tmx, "MAX_FILE", 100_000)
    monkeypatch.setattr(decoding, "CHUNK", 1000)
    assert "a segment longer than 100" in refused(write(tmp_path / "a.tmx", as_tmx([("a" * 101, "b")])))
    assert "a tag or comment" in refused(write(tmp_path / "b.tmx", f"<tmx><!--{'a' * 50_000}--></tmx>"))
    assert "a tag or comment" in refused(write(tmp_path / "c.tmx", f"<tmx a='{'a' * 50_000}'></tmx>"))
    many = as_tmx([("a", "b")] * 5000).encode()
    assert "larger than" in refused(write(tmp_path / "d.tmx.gz", gzip.compress(many)))
    monkeypatch.undo()
    assert len(read_pairs(tmp_path / "d.tmx.gz")) == 5000


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        (as_tmx(ROWS).replace("</tuv>", "", 1), 9, "not valid XML: mismatched tag"),
        (as_tmx(ROWS)[:-10], 22, "not valid XML"),
        ("<html><body/></html>", 1, "expected a <tmx> file, found <html>"),
        (as_tmx(ROWS).replace(' xml:lang="fr"', "", 1), 8, "without the language"),
        (as_tmx([("a", " "), ("b", "c")]), 6, "the target is blank"),
        ("", 1, "not valid XML: no element found"),
    ],
)
def test_damaged_memories_are_refused(tmp_path: Path, text: str, line: int, part: str) -> None:
    path = write(tmp_path / "a.tmx", text)
    message = refused(path)
    assert f"{path}, line {line}" in message and part in message


# Message catalogues

CATALOGUE = r"""# Translators
msgid ""
msgstr ""
"Language: fr\n"
"Content-Type: text/plain; charset=UTF-8\n"

#: src/a.c:1
#, c-format
msgctxt "menu"
msgid "Open \"%s\""
msgstr "Ouvrir « %s »"

msgid ""
"First line\n"
"second\tline \\ \x41\101"
msgstr ""
"Première ligne\n"
"seconde"

#, fuzzy, c-format
#| msgid "Clos"
msgid "Close"
msgstr "Clore"

msgid "one file"
msgid_plural "%d files"
msgstr[0] "un fichier"
msgstr[1] "%d fichiers"

msgid "later"
msgstr ""

#~ msgid "gone"
#~ msgstr "parti"
"""


def test_a_catalogue_gives_what_is_translated_and_counts_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path / "fr.po", CATALOGUE)
    expected = [
        ('Open "%s"', "Ouvrir « %s »"),
        ("First line\nsecond\tline \\ AA", "Première ligne\nseconde"),
        ("one file", "un fichier"),
        ("%d files", "%d fichiers"),
    ]
    pairs = read_pairs(path)
    assert texts(pairs) == expected and pairs.columns == ("msgid", "fr")
    assert {reason for _, reason in pairs.skipped} == {
        "1 of its entries: header",
        "1 of its entries: fuzzy",
        "1 of its entries: untranslated",
        "1 of its entries: obsolete",
    }
    for asked in ({"source": "fr"}, {"source": "msgstr", "target": "msgid"}, {"source": "fr", "target": "en"}):
        assert texts(read_pairs(path, **asked)) == [(b, a) for a, b in expected]
    pairs = read_pairs(path, source="en", target="fr")
    assert texts(pairs) == expected and pairs.columns == ("en", "fr") and "taken to be en" in pairs.notes[0]
    assert "no 'de' in it; it has msgid and msgstr (in fr)" in refused(path, target="de")


def test_a_language_with_one_form_has_it_stand_for_the_plural(tmp_path: Path) -> None:
    path = write(tmp_path / "ja.po", 'msgid "one file"\nmsgid_plural "%d files"\nmsgstr[0] "%d ファイル"\n')
    assert texts(read_pairs(path)) == [("%d files", "%d ファイル")]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ('msgid "a"\nmsgstr "b\n', 2, "the quote is not closed"),
        ('msgid "a"\nmsgstr "b" c\n', 2, "or text follows it"),
        ('msgid "a"\nmsgid "b"\nmsgstr "c"\n', 1, "an entry without msgstr"),
        ('msgid "a"\n', 1, "an entry without msgstr"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"\n', 3, "msgstr does not fit here"),
        ('msgid "a"\nmsgstr[0] "b"\n', 2, "msgstr[0] does not fit here"),
        ('msgid "a"\nmsgstr "b\\q"\n', 2, "unknown escape \\q"),
        ('msgid "a"\nmsgstr "b"\nhello\n', 3, "expected msgid, msgstr"),
        ('"a"\n', 1, "a string that continues nothing"),
        ('msgstr "a"\n', 1, "msgstr without a msgid"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] ""\n', 1, "the target is blank"),
    ],
)
def test_damaged_catalogues_are_refused(tmp_path: Path, text: str, line: int, part: str) -> None:
    path = write(tmp_path / "a.po", text)
    message = refused(path)
    assert f"{path}, line {line}" in message and part in message


# Bad tables and parallel files


PO = 'msgid ""\nmsgstr ""\n"Language: {}\\n"\n\nmsgid "one"\nmsgstr "{}"\n'


def test_catalogues_of_several_languages_are_refused_with_the_list(tmp_path: Path) -> None:
    for code, text in (("fr", "un"), ("pt_BR", "um"), ("de", "eins"), ("en", "")):
        write(tmp_path / code / "LC_MESSAGES" / "app.po", PO.format(code, text))
    write(tmp_path / "fr" / "more.po", PO.format("fr", "une"))
    message = refused(tmp_path)
    assert "message catalogues of 3 languages: de, fr (2 files), pt_BR" in message
    assert "--set target=de" in message
    pairs = read_pairs(tmp_path, target="fr")
    assert texts(pairs) == [("one", "un"), ("one", "une")] and pairs.columns == ("msgid", "fr")
    assert any(reason == "in pt_BR, not in fr" for _, reason in pairs.skipped)
    assert texts(read_pairs(tmp_path / "fr")) == texts(pairs)
    assert texts(read_pairs(tmp_path, target="pt_BR")) == [("one", "um")]


def test_the_language_of_a_catalogue_may_stand_in_its_path(tmp_path: Path) -> None:
    for code in ("fr", "de"):
        write(tmp_path / code / "LC_MESSAGES" / "app.po", 'msgid "one"\nmsgstr "x"\n')
    assert "2 languages: de, fr" in refused(tmp_path)


def test_json_that_is_no_list_of_objects_is_refused_with_the_endings_that_are_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a list of objects") as caught:
        read_pairs(write(tmp_path / "a.json", '{"source": "a b", "target": "c d"}\n'))
    assert "[{" in str(caught.value) and ".jsonl, " in str(caught.value) and ", .json (" in str(caught.value)


@pytest.mark.parametrize("ending", ["tsv", "csv"])
@pytest.mark.parametrize(
    ("row", "part"),
    [
        (("alone",), "1 column, expected 2 as in line 1: 'alone'"),
        (("a", "b", "c"), "3 columns, expected 2 as in line 1: 'a | b | c'"),
        (("a", " "), "the target is blank, the other side is 'a'"),
        (("", "b"), "the source is blank, the other side is 'b'"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, ending: str, row: tuple[str, ...], part: str) -> None:
    text = (tsv if ending == "tsv" else as_csv)([*ROWS, row, *ROWS])
    path = write(tmp_path / f"a.{ending}", text)
    message = refused(path)
    assert f"{path}, line 5" in message and part in message
    pairs = read_pairs(path, skip=1)
    assert texts(pairs) == ROWS * 2 and pairs.counts.bad == 1


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ('a,b\n"c,d\ne,f\n', 2, "a quote is opened and not closed by line 3"),
        ('a,b\n"c,d\n"e",f\n', 2, "an open or a stray quote"),
        ('a,b\n"c"x,d\n', 2, "text follows the end of a quoted field"),
        ('a,b\n"c,' + "d\n" * 100_000 + 'e",f\n', 2, "a quote is opened and not closed"),
    ],
)
def test_quotes_that_swallow_rows_are_refused_whatever_may_be_skipped(
    tmp_path: Path, text: str, line: int, part: str
) -> None:
    path = write(tmp_path / "a.csv", text)
    for skip in (None, 100):
        message = refused(path, skip=skip)
        assert f"{path}, line {line}" in message and part in message


def test_line_numbers_count_lines_inside_quotes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", '"a\n\nb",c\r\n\r\nd,e\nf\n')
    assert f"{path}, line 6" in refused(path)
    assert read_pairs(path, skip=1).counts.empty == 1


@pytest.mark.parametrize("where", [0, 7, 30, 59])
@pytest.mark.parametrize("side", [0, 1])
def test_unequal_parallel_files_are_refused_with_a_guess_where(tmp_path: Path, where: int, side: int) -> None:
    generator = random.Random(where)
    lengths = [generator.randint(1, 30) for _ in range(60)]
    sides = [["x" * n for n in lengths], ["y" * round(n * 1.2 + 1) for n in lengths]]
    sides[side].insert(where, "an added line 17")
    paths = [write(tmp_path / f"c.{code}", "\n".join(s) + "\n") for code, s in zip(("en", "fr"), sides, strict=True)]
    for skip in (None, 100):
        message = refused(*paths, skip=skip)
        counts = [60 + (side == 0), 60 + (side == 1)]
        assert f"{paths[0]} has {counts[0]} lines, {paths[1]} has {counts[1]}" in message
        assert f"{paths[0]}, line {where + 1}:" in message and "an added line 17" in message


def test_an_empty_or_blank_side_is_refused(tmp_path: Path) -> None:
    en, fr = write(tmp_path / "c.en", "one\n\ntwo\n"), write(tmp_path / "c.fr", "un\n\n\n")
    assert f"{fr}, line 3: the target is blank, the other side is 'two'" in refused(en, fr)
    pairs = read_pairs([en, fr], skip=1)
    assert texts(pairs) == [("one", "un")] and (pairs.counts.empty, pairs.counts.bad) == (2, 1)
    assert f"{en} has 3 lines, {write(tmp_path / 'd.fr', '')} has 0" in refused(en, tmp_path / "d.fr")
    assert "0 pairs in" in refused(write(tmp_path / "d.en", ""), tmp_path / "d.fr")
    assert "named twice" in refused(en, en)
    assert departure(["a"], []) == 1


def test_wrong_encodings_are_refused_with_the_remedy(tmp_path: Path) -> None:
    rows = tsv([*ROWS, ("é", "è")])
    for name, data, part in (
        ("latin.tsv", tsv([("e", "e")] * 4 + [("é", "è")]).encode("latin-1"), "line 5: byte 0xE9"),
        ("wide.tsv", rows.encode("utf-16-le"), "UTF-16LE"),
        ("packed.csv", gzip.compress(as_csv(ROWS).encode()), "this is gzip"),
        ("latin.csv", as_csv([("e", "e"), ("é", "è")]).encode("latin-1"), "line 2: byte 0xE9"),
        ("latin.po", as_po([("e", "é")]).encode("latin-1"), "line 5: byte 0xE9"),
        ("latin.tmx", as_tmx([("e", "é")]).encode("latin-1"), "line 8: byte 0xE9"),
        ("latin.jsonl", '{"en": "e", "fr": "é"}'.encode("latin-1"), "line 1: byte 0xE9"),
    ):
        message = refused(write(tmp_path / name, data), skip=100)
        assert str(tmp_path / name) in message and part in message


def test_files_that_are_not_pairs_say_what_to_do(tmp_path: Path) -> None:
    assert "rename the file to end in .tsv" in refused(write(tmp_path / "fra.txt", "Go.\tVa !\tCC-BY\n"))
    assert "the file of the other language" in refused(write(tmp_path / "corpus.en", "Go.\n"))
    assert "0 pairs in" in refused(write(tmp_path / "empty.tsv", ""))
    assert "0 pairs in" in refused(write(tmp_path / "blank.csv", "\n \n"))
    assert "0 pairs in" in refused(write(tmp_path / "header.tsv", "source\ttarget\n"))
    assert "header" in refused(write(tmp_path / "header.po", 'msgid ""\nmsgstr "Language: fr\\n"\n'))
    assert "no such file" in refused(tmp_path / "nowhere.tsv")


# Policy and counts


def test_bad_rows_are_skipped_up_to_a_number_or_a_share(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", tsv(ROWS * 4 + [("alone",), ("blank", "")] + ROWS))
    assert "leave out up to 100 bad rows" in refused(path)
    for skip in (2, 100, 0.1, 1.0):
        pairs = read_pairs(path, skip=skip)
        assert len(pairs) == 20 and pairs.counts.bad == 2
        assert [where for where, _ in pairs.skipped] == [f"{path}, line 17", f"{path}, line 18"]
        assert pairs.fingerprint == read_pairs(write(tmp_path / "b.tsv", tsv(ROWS * 5))).fingerprint
    assert f"{path}, line 17: bad rows: 2 so far, allowed: 1" in refused(path, skip=1)
    assert f"{path}, line 17: bad rows: 2 (9.09%), allowed: 9.00%" in refused(path, skip=0.09)
    assert "bad rows: 1 so far, allowed: 0" in refused(path, skip=0)
    for skip in (-1, 1.5, float("nan"), True):
        with pytest.raises(ConfigError):
            read_pairs(path, skip=skip)


def test_planted_suspects_are_counted_and_kept(tmp_path: Path) -> None:
    nouns = ["house", "dog", "garden", "friend", "book", "door"]
    noms = ["maison", "chienne", "cour", "copine", "revue", "porte"]
    rows = [
        (f"the {a} is not with the {b}, and I know it", f"la {c} n'est pas avec la {d}, et je le sais")
        for a, c in zip(nouns, noms, strict=True)
        for b, d in zip(nouns, noms, strict=True)
    ]
    clean = read_pairs(write(tmp_path / "a.tsv", tsv(rows))).counts
    assert (clean.sources, clean.duplicates, clean.identical, clean.swapped, clean.empty, clean.bad) == (
        36,
        0,
        0,
        0,
        0,
        0,
    )
    planted = [*rows[:5], *((b, a) for a, b in rows[5:7]), *rows[7:], *rows[10:13], ("Taxi", "Taxi"), ("", "")]
    pairs = read_pairs(write(tmp_path / "b.tsv", tsv(planted)))
    counts = pairs.counts
    assert (counts.duplicates, counts.identical, counts.swapped, counts.empty) == (3, 1, 2, 1)
    assert len(pairs) == 40 and counts.sources == 37
    report = "\n".join(pairs.report())
    assert "40 pairs, column 1 -> column 2, 37 different sources" in report
    for part in ("equal to an earlier pair: 3", "source and target the same: 1", "swapped: 2", "side or both: 1"):
        assert part in report
    assert f"the first: {rows[0][0][:39]!r}"[:-1] in report


def test_a_pair_is_called_swapped_only_when_both_sides_say_so_clearly() -> None:
    rows = [("a house", "une maison"), ("a door", "une porte")] * 50
    assert swapped(rows) == 0 and swapped([*rows, ("une maison une porte", "a house a door")]) == 1
    assert swapped([*rows, ("une maison une porte une maison", "une porte")]) == 0, "two texts in one language"
    assert swapped([*rows, ("maison", "house")]) == 0, "a word is too little"


def test_the_fingerprint_knows_where_texts_end(tmp_path: Path) -> None:
    prints = {
        read_pairs(write(tmp_path / f"{i}.tsv", tsv(rows))).fingerprint
        for i, rows in enumerate(
            [[("ab", "c")], [("a", "bc")], [("c", "ab")], [("ab", "c"), ("d", "e")], [("d", "e"), ("ab", "c")]]
        )
    }
    assert len(prints) == 5


# Round trips

line_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n"), min_size=1, max_size=12)
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=12)
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows_of(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[str, str]]]:
    solid = text.filter(lambda t: t == t.strip() and "\ufeff" not in t and t.count("\0") == 0)
    pair = st.tuples(solid, solid).filter(lambda p: not is_header(p, None, None))
    return st.lists(pair, min_size=1, max_size=4)


@quick
@given(rows_of(line_text))
def test_tsv_gives_back_what_was_written(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    assert texts(read_pairs(write(tmp_path / "a.tsv", tsv(rows)))) == rows


@quick
@given(rows_of(any_text))
def test_csv_and_po_and_jsonl_give_back_what_was_written(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    header = [("source", "target")]
    assert texts(read_pairs(write(tmp_path / "a.csv", as_csv([*header, *rows], quoting=csv.QUOTE_ALL)))) == rows
    assert texts(read_pairs(write(tmp_path / "a.po", as_po(rows)))) == rows
    assert texts(read_pairs(write(tmp_path / "a.jsonl", as_jsonl(rows)))) == rows


# Splitting

many_pairs = st.lists(st.builds(Pair, st.text("abcd", max_size=2), st.text("xyz", max_size=2)), max_size=60)


@settings(max_examples=50, deadline=None)
@given(many_pairs, st.sampled_from([0.1, 0.3, 0.7]), st.integers(1, 8))
def test_no_source_is_on_both_sides_and_none_is_lost(rows: list[Pair], share: float, most: int) -> None:
    if len({pair.source for pair in rows}) < 2:
        with pytest.raises(DataError, match="too few"):
            split_pairs(rows, share, most=most)
        return
    train, held, rule = split_pairs(rows, share, most=most)
    sources = {h.source for h in held}
    assert train and 1 <= len(held) <= most and overlap(train, held) == 0
    assert train == [pair for pair in rows if pair.source not in sources]
    for h in held:
        assert h.references == tuple(dict.fromkeys(pair.target for pair in rows if pair.source == h.source))
    assert f"{len(held):,} of " in rule and "SHA-256" in rule


@settings(max_examples=25, deadline=None)
@given(
    st.sets(st.text("abcdefg", min_size=1, max_size=4), min_size=40), st.sets(st.text("xyz", min_size=1, max_size=4))
)
def test_added_rows_move_no_source(old: set[str], new: set[str]) -> None:
    rows, more = [Pair(s, "t") for s in sorted(old)], [Pair(s, "u") for s in sorted(new)]
    before, after = split_pairs(rows, 0.5), split_pairs([*more, *rows], 0.5)
    assert {h.source for h in before.held_out} == {h.source for h in after.held_out} - new
    few, fewer = split_pairs(rows, 0.5, most=5), split_pairs([*more, *rows], 0.5, most=5)
    assert {h.source for h in fewer.held_out} - new <= {h.source for h in few.held_out}
    assert few.held_out == before.held_out[: len(few.held_out)]


def test_the_split_takes_the_share_and_keeps_to_the_order_of_the_hash() -> None:
    rows = [Pair(str(i), "t") for i in range(5000)]
    held = split_pairs(rows).held_out
    assert 400 < len(held) < 600 and split_pairs(rows[::-1]).held_out == held
    assert len(split_pairs(rows, 0.5).held_out) == 1000
    assert len(split_pairs(rows[:3], 0.999).train) == 1
    for share, most in ((0.0, 5), (1.0, 5), (0.5, 0)):
        with pytest.raises(ConfigError):
            split_pairs(rows, share, most=most)


def test_overlap_counts_different_sources_of_the_test() -> None:
    train = [Pair("a", "x"), Pair("b", "y"), Pair("a", "z")]
    assert overlap(train, [Pair("a", "q"), Pair("a", "r"), Held("c", ("s",))]) == 1
    assert overlap(train, [Held("a", ()), Held("b", ())]) == 2


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data here")
def test_real_pairs_are_clean_and_split_by_source() -> None:
    train = read_pairs(SHARED / "multi30k.val.en-de-fr.tsv.gz", target="fr")
    assert train.columns == ("en", "fr") and len(train) == 1014
    assert train.counts.swapped == train.counts.bad == train.counts.empty == 0
    assert train.rows[0].target.startswith("Un groupe d'hommes")
    turned = [Pair(p.target, p.source) if i % 50 == 0 else p for i, p in enumerate(train)]
    assert swapped([(p.source, p.target) for p in turned]) == 21
