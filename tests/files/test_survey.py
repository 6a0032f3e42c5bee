"""What files are taken for, and what is said of those that are not clear. Forms of real files, in small."""

import json
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from helpers import processes
from helpers.pictures import encoded, scene

from weft.domains.recognising import recognise
from weft.errors import DataError
from weft.files import survey as surveys
from weft.files.survey import Survey

WORDS = "the a tea shop room bed train was is very not good bad slow warm loud clean old new and but we".split()  # noqa: SIM905
FRENCH = "le la thé magasin chambre lit train était est très pas bon mauvais lent chaud bruyant".split()  # noqa: SIM905
PLACES = ["Paris", "Rome", "Oslo", "Lima"]


def sentences(words: list[str], seed: int, count: int = 60) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, k=draw.randint(4, 9))) + f" {i}." for i in range(count)]


ENGLISH, OTHER = sentences(WORDS, 1), sentences(FRENCH, 2)
PAIRS = list(zip(ENGLISH, OTHER, strict=True))
DAYS = [f"2024-{1 + i // 28:02}-{1 + i % 28:02}" for i in range(60)]
LABELS = [("pos", "neg")[i % 2] for i in range(60)]
TAIL = "CC-BY 2.0 (France) Attribution: tatoeba.org #"


def joined(rows: list[tuple], separator: str = ",") -> str:
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def catalogue(language: str, rows: list[tuple[str, str]]) -> str:
    head = f'msgid ""\nmsgstr ""\n"Language: {language}\\n"\n'
    return head + "".join(f'\nmsgid "{a}"\nmsgstr "{b}"\n' for a, b in rows)


STRIKES = [
    (f"{PLACES[i % 4]} AIRPORT", f"B-{700 + i % 5}", ("None", "Minor")[i % 2], DAYS[i], "Airplane",
     ("UNITED", "DELTA")[i % 2], PLACES[i % 3], ("Climb", "Approach")[i % 2], ("Small", "Large")[i % 2],
     ("Gull", "Hawk")[i % 2], "Day", i * 7, i * 100, i % 4)
    for i in range(60)
]  # fmt: skip
STRIKE_NAMES = (
    "Airport Name", "Aircraft Make Model", "Effect", "Flight Date", "Aircraft", "Operator", "Origin State", "Phase",
    "Wildlife Size", "Wildlife Species", "Time of day", "Cost Other", "Cost Repair", "Speed",
)  # fmt: skip
RECOGNISED = {
    # pairs
    "plain.tsv": (joined(PAIRS, "\t"), "translate"),
    "named.csv": (joined([("en", "fr"), *PAIRS]), "translate"),
    "sides.tsv": (joined([("src", "tgt"), *PAIRS], "\t"), "translate"),
    "numbered.csv": (
        joined([("id", "English", "text_fr"), *((i, *pair) for i, pair in enumerate(PAIRS))]),
        "translate",
    ),
    "credits.tsv": (joined([(*pair, f"{TAIL}{i}") for i, pair in enumerate(PAIRS)], "\t"), "translate"),
    "both-numbered.tsv": (joined([(i, a, 9 * i, b) for i, (a, b) in enumerate(PAIRS)], "\t"), "translate"),
    "other-names.csv": (joined([("phrase", "satz"), *PAIRS]), "translate"),
    "many.tsv": (joined([(a, b) for a in ENGLISH[:10] for b in sentences(FRENCH, len(a), 6)], "\t"), "translate"),
    "corpus.en-fr-de.tsv": (joined([(a, b, b[::-1]) for a, b in PAIRS], "\t"), "translate"),
    "sides.jsonl": ("".join(json.dumps({"source": a, "target": b}) + "\n" for a, b in PAIRS), "translate"),
    "inner.jsonl": (json.dumps({"translation": {"en": "a", "fr": "b"}}) + "\n", "translate"),
    "fr.po": (catalogue("fr", PAIRS), "translate"),
    # labelled texts
    "labels.csv": (joined([("text", "label"), *zip(ENGLISH, LABELS, strict=True)]), "classify-text"),
    "bare-labels.tsv": (joined(list(zip(LABELS, ENGLISH, strict=True)), "\t"), "classify-text"),
    "odd-names.csv": (joined([("x", "y"), *zip(ENGLISH, LABELS, strict=True)]), "classify-text"),
    "scores.csv": (joined([("review", "score"), *((t, i / 7) for i, t in enumerate(ENGLISH))]), "classify-text"),
    "sorted.tsv": (joined([(1, f"{text} {i}") for i in range(34) for text in ENGLISH], "\t"), "classify-text"),
    "labels.jsonl": ("".join(json.dumps({"text": t, "label": len(t) % 2}) + "\n" for t in ENGLISH), "classify-text"),
    # pictures
    "classes.csv": (joined([("path", "label"), *((f"{i}.png", LABELS[i]) for i in range(20))]), "classify-images"),
    "captions.csv": (joined([("image", "caption"), *((f"{i}.png", ENGLISH[i]) for i in range(20))]), "caption"),
    "captions.tsv": (joined([(f"{i}.png", *PAIRS[i]) for i in range(20)], "\t"), "caption"),
    "prompted.csv": (
        joined([("image", "prompt", "label"), *((f"{i}.png", ENGLISH[i], LABELS[i]) for i in range(20))]),
        "classify-images",
    ),
    "remarks.csv": (
        joined([("path", "label", "comment"), *((f"{i}.png", LABELS[i], "Is it?") for i in range(20))]),
        "classify-images",
    ),
    "drawn.csv": (
        joined([("file_name", "prompt", "caption"), *((f"{i}.png", *PAIRS[i]) for i in range(20))]),
        "caption",
    ),
    "asked.csv": (
        joined(
            [("image", "question", "answer", "category"), *((f"{i}.png", "Why", "so", LABELS[i]) for i in range(20))]
        ),
        "answer",
    ),
    "queries.csv": (
        joined([("image", "query", "answer"), *((f"{i}.png", "Is it red?", LABELS[i]) for i in range(20))]),
        "answer",
    ),
    "captions.txt": (joined([("image", "caption"), *((f"{i}.png", ENGLISH[i]) for i in range(20))]), "caption"),
    # tags and trees
    "words.tsv": ("\n".join("Ada\tB-PER\nmet\tO\nthe\tO\nKing\tB-PER\n" for _ in range(9)), "tag-text"),
    "tokens.jsonl": ('{"tokens": ["Ada", "met"], "tags": ["B-PER", "O"]}\n' * 9, "tag-text"),
    "a.mrg": ("(S (NP (DT The) (NN cat)) (VP (VBD slept)))\n", "parse"),
    # text of any ending
    "texts.jsonl": ("".join(json.dumps({"text": t, "id": i}) + "\n" for i, t in enumerate(ENGLISH)), "language-model"),
    "server.log": ("\n".join(f"{day} INFO started" for day in DAYS), "language-model"),
    "film.srt": ("1\n00:00:01,000 --> 00:00:04,000\nHello.\n", "language-model"),
    "code.py": ("def f():\n    return 1\n", "language-model"),
    "notes.rst": ("Notes\n=====\n\nSome.\n", "language-model"),
    "README": ("Read me.\n", "language-model"),
    "clips.txt": (
        joined([("path", "sentence"), *((f"clip_{i}.mp3", ENGLISH[i]) for i in range(20))]),
        "language-model",
    ),
    "book.txt": ("Title, Image\n\n" + "It was a bright, cold day, and the clocks struck.\n" * 20, "language-model"),
}
REFUSED = {
    "energy.csv": (
        joined([("source", "target", "value"), *((f"node {i % 9}", f"node {i % 7}", i / 3) for i in range(40))]),
        ["what to learn from this table is not clear", "1 'source'"],
    ),
    "seeds.csv": (
        joined([("image", "seed", "prompt"), *((f"{i}.png", i * 31, ENGLISH[i]) for i in range(20))]),
        ["--task caption --set picture_column=image --set caption_column=prompt"],
    ),
    "strikes.csv": (joined([STRIKE_NAMES, *STRIKES]),
                    ["10 'Wildlife Species' (2 different in 60 rows, as 'Gull'", "HistGradientBoostingClassifier"]),
    "weather.csv": (
        joined([("date", "rain", "wind", "weather"), *((d, i / 3, i / 7, LABELS[i]) for i, d in enumerate(DAYS))]),
        ["1 'date' (60 different in 60 rows, as '2024-01-01'; dates)", "no task of weft's learns from such columns",
         "HistGradientBoostingRegressor"],
    ),
    "posts.csv": (
        joined([("id", "date", "Title", "Views"), *((i, d, ENGLISH[i], i * 31) for i, d in enumerate(DAYS))]),
        ["3 'Title' (60 different in 60 rows", "4 'Views'"],
    ),
    "numbers.csv": (joined([(i / 3, i * i, i % 7, -i) for i in range(60)]),
                    ["2 (60 different in 60 rows, as '0'; numb"]),
    "days.csv": (joined([("day", "weather"), *zip(DAYS, LABELS, strict=True)]), ["1 'day'", "; dates)"]),
    "regions.jsonl": (
        "".join(json.dumps({"code": f"AD-{i}", "name": f"Parish {i}", "type": LABELS[i]}) + "\n" for i in range(60)),
        ["3 'type'", "label_column=COLUMN for classify-text", "--set source=COLUMN"],
    ),
    "lemmas.json": (
        json.dumps({"nodes": "node", "links": "link", "edges": "edge", **{one: one[:9] for one in ENGLISH}}),
        ["jq -c 'to_entries[]"],
    ),
    "people.csv": (
        joined([("name", "job", "age"), *((f"Ada {i}", f"cook {i}", i) for i in range(60))]),
        ["no task of weft's learns from such columns"],
    ),
    "films.csv": (
        joined([("film", "plot", "year", "genre", "country"),
                *((f"Film {i}", ENGLISH[i] * 2, 1990 + i, LABELS[i], PLACES[i % 4])
                                                                for i in range(60))]),
        ["--task classify-text --set text_column=plot --set label_column=genre"],
    ),
    "reviews.csv": (
        joined([("title", "plot", "day", "cups", "shop"),
                *((f"Tea {i}", ENGLISH[i], DAYS[i], i % 5, PLACES[i % 4]) for i in range(60))]),
        ["--task classify-text --set text_column=plot --set label_column=shop"],
    ),
    "phrases.csv": (
        joined([("id", "day", "note", "phrase", "satz", "n"),
                *((i, DAYS[i], f"remark {i}", *PAIRS[i], i / 3) for i in range(60))]),
        ["--task translate --set source=phrase --set target=satz"],
    ),
    "taxi.csv": (
        joined([("pickup_datetime", "pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude",
                 "passengers", "fare"),
                *((DAYS[i], -73 - i / 60, 40 + i / 99, -73 - i / 70, 40 + i / 88, i % 4, i / 3) for i in range(60))]),
        ["--task fit-field --set value_column=fare"],
    ),
    "soil.csv": (
        joined([("x", "y", "zinc", "lime"), *((181000 + 37 * i, 333000 + 41 * i * (i % 7), i / 3, i % 2)
                                              for i in range(60))]),
        ["--task fit-field --set plane_columns=x,y --set value_column=zinc"],
    ),
    "capitals.csv": (joined([("city", "state", "lat", "lng"),
                             *((f"Ada{i}", f"Oro{i}", 30 + i / 9, i) for i in range(60))]),
                     ["--task fit-field --set value_column=COLUMN"]),
    "header.csv": ("60,4,setosa\n" + joined([(i / 3, i / 7, i, -i, i % 3) for i in range(60)]),
                   ["line 1 has 3 columns and nearly all others 5", "tail -n +2"]),
    "noise": (bytes(range(256)) * 9,
              ["not recognised as data for any task: binary, not text: 9 of its first 2304 bytes"]),
}  # fmt: skip


def write(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refused(*paths: Path) -> str:
    with pytest.raises(DataError) as caught:
        recognise([str(path) for path in paths])
    return str(caught.value)


@pytest.mark.parametrize("name", RECOGNISED)
def test_what_a_file_is_for_is_recognised_and_said(tmp_path: Path, name: str):
    data, task = RECOGNISED[name]
    card, why = recognise([str(write(tmp_path / name, data))])
    assert card.name == task and why


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_clear_is_refused_with_what_is_there_and_what_could_be_done(tmp_path: Path, name: str):
    data, words = REFUSED[name]
    message = refused(write(tmp_path / name, data))
    assert all(word in message for word in words), message


@pytest.mark.parametrize("name", ["strikes.csv", "weather.csv", "people.csv", "films.csv", "stones.csv"])
def test_nothing_strained_is_suggested(tmp_path: Path, name: str):
    """Few short values are no text, names and plots are no translations, and measures of one thing are no place."""
    rows = ((i / 9, PLACES[i % 3], PLACES[i % 4], i / 7, i / 7 + 0.01 * (i % 3), i / 11) for i in range(60))
    stones = [("carat", "cut", "clarity", "x", "y", "z"), *rows]
    message = refused(write(tmp_path / name, joined(stones) if name == "stones.csv" else REFUSED[name][0]))
    assert "--task translate" not in message and "--task fit-field" not in message
    assert ("--task classify-text" in message) == (name == "films.csv")


def test_folders_and_patterns_are_taken_for_what_most_of_their_files_are(tmp_path: Path):
    for i in range(3):
        write(tmp_path / f"logs/{i}.log", "started\n" * 9)
        write(tmp_path / f"po/fr/{i}.po", catalogue("fr", PAIRS[:3]))
        write(tmp_path / f"tables/{i}.tsv", joined(PAIRS, "\t"))
        write(tmp_path / f"pictures/{i}/{i}.png", encoded(scene(seed=i)))
    write(tmp_path / "po/fr/messages.mo", bytes(99))
    write(tmp_path / "po/README.md", "Translations.\n")
    expected = {"logs": "language-model", "po": "translate", "tables": "translate", "pictures": "classify-images"}
    assert {name: recognise([str(tmp_path / name)])[0].name for name in expected} == expected
    patterns = {"logs/*.log": "language-model", "po/fr/*.po": "translate", "tables/*.tsv": "translate"}
    assert {name: recognise([str(tmp_path / name)])[0].name for name in patterns} == patterns


def test_two_kinds_of_data_together_are_refused(tmp_path: Path):
    pairs, labels = (write(tmp_path / name, RECOGNISED[name][0]) for name in ("plain.tsv", "labels.csv"))
    assert "what to learn from this table is not clear" in refused(pairs, labels)


def test_a_table_is_opened_once_for_all_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    counts: Counter[Path] = Counter()
    opened = surveys.open_table

    def counted(path: Path, *args, **options):
        counts[path] += 1
        return opened(path, *args, **options)

    monkeypatch.setattr(surveys, "open_table", counted)
    path = write(tmp_path / "a.csv", RECOGNISED["labels.csv"][0])
    recognise([str(path)])
    assert counts == {path: 1}


def test_a_survey_says_what_its_sources_are(tmp_path: Path):
    write(tmp_path / "a/x.txt", "one\ntwo\n")
    write(tmp_path / "a/y.TXT.gz", b"\x1f\x8b")
    write(tmp_path / "a/.hidden", "no")
    write(tmp_path / "a/z", "no ending")
    write(tmp_path / "p.zip", b"PK")
    found = Survey(
        [tmp_path / "a", tmp_path / "a/x.txt", tmp_path / "p.zip", tmp_path / "a/*", tmp_path / "none"]
    ).sources
    assert [source.kind for source in found] == ["folder", "file", "archive", "pattern", "missing"]
    assert found[0].endings == {".txt": 2, "": 1} and found[1].lines == [(1, "one"), (2, "two")]
    with pytest.raises(DataError, match="no such file or folder"):
        Survey([tmp_path / "none"]).check()


def test_a_survey_and_its_readers_need_no_torch():
    code = (
        "import sys, weft.files.survey; print('numpy' in sys.modules)\n"
        "import weft.domains.captions.dataset, weft.domains.pictures.dataset\n"
        "from weft.domains.captions.reading import captions\n"
        "from weft.domains.texts.reading import corpus, labelled, tagged\n"
        "from weft.domains.pictures.reading import recognising as images\n"
        "from weft.domains.pairs.reading import pairs; from weft.domains.trees.reading import treebanks as trees\n"
        "print('torch' in sys.modules)"
    )
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
