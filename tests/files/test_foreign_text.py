"""Text files of other programs: each is named, with the command that converts it, or taken for its own task."""

import gzip
import json
from pathlib import Path

import pytest
from helpers.pictures import encoded, scene

import weft
from weft.domains.recognising import recognise
from weft.domains.texts.reading.corpus import read_corpus
from weft.errors import DataError
from weft.files.json_forms import form_of

TREES = "(S (NP (DT The) (NN cat)) (VP (VBD slept)))\n(S (NP (DT A) (NN dog)) (VP (VBD ran)))\n"
NEWICK = "((human:0.1,chimp:0.1):0.2,gorilla:0.3);\n"
EXPORT = "%% word\ttag\n#BOS 1\nTer\tvz\t500\n#500\tS\t0\n#EOS 1\n"
PAJEK = '*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Edges\n1 2\n2 3\n'
EDGES = "# who knows whom\n" + "".join(f"{i} {i + 1} 0.5\n" for i in range(12))
MAP = '<?xml version="1.0"?><gml:FeatureCollection/>'
TAGGED = "The/DT cat/NN slept/VBD on/IN the/DT mat/NN ./.\n" * 5
ORANGE = "Category\tText\nd\tstring\nclass\t\n" + "a\tsome text\n" * 12
OFF = "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
TABBED = "good movie\t1\nbad movie\t0\n" * 8


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("a.trees", NEWICK, "Newick"), ("a.export", EXPORT, "--outputfmt=bracket"), ("a.gld", TREES, "cp"),
        ("a.net", PAJEK, "read_pajek"), ("b.net", PAJEK.replace(" 3", "", 1), "read_edgelist"),
        ("c.net", EDGES, "read_edgelist"), ("a.gexf", "<gexf/>", "read_gexf"), ("a.gv", "digraph {a -> b}", "gv2gml"),
        ("a.gml", MAP, "ogr2ogr"), ("a.smi", "CCO ethanol\nC methane\n", "smiles"), ("a.txt", TAGGED, ".conll"),
        ("a.tab", ORANGE, "sed 2,3d"), ("b.tab", TABBED, "b.tsv"), ("a.off", OFF, "trimesh"), ("a.pcd", OFF, "open3d"),
        ("a.json", '[["what is it?", "a cat", 0], ["is it red?", "no", 0]]', "@tsv"),
        ("a.vec", "2 3\ncat 0.1 0.2 0.3\ndog 0.2 0.1 0.4\n", "weft import"),
        ("glove.txt", "".join(f"w{i} " + " ".join(["0.5"] * 50) + "\n" for i in range(3)), "weft import"),
        ("a.dat", "".join(f"{i % 2} 1:{i} 7:0.5\n" for i in range(9)), "load_svmlight_file"),
        ("lexicon.txt", "".join(f"tea{i}\t{i}\t[1, 2, {i}, 4]\n" for i in range(12)), "lexicon.tsv"),
        ("iris.data", "".join(f"{i / 3:.1f},{i / 7:.1f},setosa\n" for i in range(9)), "iris.csv"),
        ("b.txt", "".join(f"{i} {i / 7:.3f} {i % 3}\n" for i in range(9)), "tr -s"),
        ("c.dat", "a b\n" + "".join(f"r{i} {i} {i / 7:.3f}\n" for i in range(9)), "index_label"),
        ("d.txt", "Name         City      Age\n" + "".join(f"Ann Lee {i}    New York   {i + 20}\n" for i in range(9)),
         "read_fwf"),
        ("e.txt", "id|name|price\n" + "".join(f"{i}|tea {i}|{i / 3:.2f}\n" for i in range(9)), "tr '|'"),
        ("f.log", "".join(f"{i / 7:.4f}\n" for i in range(30)), "numbers, without words"),
        ("g.txt", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5\n" * 20, "without words"),
        ("h.txt", '{"a":[' + ",".join(f'{{"x":{i}}}' for i in range(99)) + "]}", "h.json"),
        ("i.log", '{"level": "info", "at": 1}\n' * 12, "i.jsonl"),
        ("a.svg", '<?xml version="1.0"?>\n<!-- x -->\n<svg width="1"/>', "rsvg-convert"),
        ("drawing", '<svg xmlns="http://www.w3.org/2000/svg"/>', "cairosvg"),
        ("a.arff", "% a table\n@RELATION tea\n@ATTRIBUTE a NUMERIC\n@DATA\n1\n", "loadarff"),
        ("a.ts", "# series\n@problemName Tea\n@data\n1,2:a\n", "load_from_ts_file"),
        ("b.ts", '<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS language="fr"/>', "ts2po"),
        ("a.xlf", '<?xml version="1.0"?><xliff/>', "xliff2po"),
        ("a.sdf", "tea\n  x\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n", "rdkit"),
        ("a.mol2", "@<TRIPOS>MOLECULE\n", "obabel"), ("a.pdb", "HEADER    TEA\nATOM      1  N\n", "Bio.PDB"),
        ("a.fa", ">tea\nACGTACGTACGTACGT\n", "--task language-model"), ("b.txt", ">tea\nACGTACGTACGTACGT\n", "FASTA"),
        ("a.fastq", "@r\nACGT\n+\nIIII\n", "NR % 4"), ("a.vcf", "##fileformat=VCFv4.2\n#CHROM\tPOS\n1\t2\n", "a.tsv"),
        ("a.sam", "@HD\tVN:1.6\n", "cut -f"), ("a.gpx", '<gpx><trkpt lat="1" lon="2"/></gpx>', "'lat', 'lon'"),
        ("a.kml", '<?xml version="1.0"?><kml/>', "ogr2ogr"), ("a.asc", "ncols 2\nnrows 2\n", "gdal_translate"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 0.5\n", "mmread"),
        ("a.ass", "[Script Info]\nTitle: tea\n", "ffmpeg"), ("a.obj", "v 0 0 0\nv 1 0 0\n", "trimesh"),
        ("a.xml", "<?xml version='1.0'?><teas>" + "<tea><name>Assam</name></tea>" * 5 + "</teas>", "'.//{*}tea'"),
        ("words.kvtml", "<?xml version='1.0'?><kvtml><information><title>Tea</title></information><entries>"
         + "<entry id='1'><translation><text>Tee</text></translation></entry>" * 5 + "</entries></kvtml>",
         "'.//{*}entry'"),
        ("b.xml", "<?xml version='1.0'?><book><head>Tea</head><p>It is warm.</p></book>", "html.unescape"),
        ("c.xml", "<?xml version='1.0'?><book><part>" + "<p>It is warm.</p>" * 5 + "</part></book>", "html.unescape"),
        ("page.html", "<!-- tea --><!-- cup --><html><body>Tea.</body></html>", "pandoc -f html"),
        ("page", '<?xml version="1.0"?><html xmlns="http://w3.org/1999/xhtml"><p>Tea.</p></html>', "pandoc -f html"),
        ("a.docbook", "<sect1><title>Tea</title><para>It is warm.</para></sect1>", "pandoc -f docbook"),
        ("talks.yml", "conversations:\n- - Is it warm?\n  - It is.\n", "yaml.safe_load"),
        ("a.cor", "__label__good a warm tea\n__label__bad a cold one\n" * 5, "sed -E"),
        ("a.gb", "LOCUS       NC_000932             154478 bp    DNA     circular PLN 15-APR-2009\n", "SeqIO"),
        ("tea.dot", "// who drinks what\ndigraph Tea {\nann -> assam\n}\n", "gv2gml"),
        ("graph.txt", "strict graph {\na -- b\n}\n", "gv2gml"),
        ("c.tab", "age\tpain\tclass\nc\tlow high\td\n\t\tclass\n" + "63\tlow\t0\n" * 12, "sed 2,3d"),
        ("table.rds", "A\n2\n263171\n131840\n787\n2\n", "readRDS"),
        ("letter", "Return-Path: <a@b.org>\nReceived: from x\n\tby y\nTo: b@b.org\nSubject: tea\n\nTea?\n",
         "formail"),
        ("tea.page", '<page xmlns="http://projectmallard.org/1.0/"><title>Tea</title><p>Warm.</p></page>', "unescape"),
        ("guide.lyx", "#LyX 2.3 created this file.\n\\begin_document\n", "lyx --export"),
        ("talk.cha", "@UTF8\n@Begin\n*ANN:\tis it warm ?\n", "pylangacq"),
        ("a.sth", "# STOCKHOLM 1.0\ntea ACGT\n", "'stockholm'"),
        ("salt.cif", "#---\ndata_9004218\n_cell_length_a 5.6\nloop_\n_atom_site_label\n", "ase.io"),
        ("1abc.cif", "data_1ABC\n# \n_entry.id 1ABC\n", "Bio.PDB"),
        ("de-en", "# a dictionary\n" + "Tee {m} :: tea\n" * 12, "de-en-converted.tsv"),
        ("moses.txt", "ein Tee ||| a tea\n" * 12, "moses.tsv"),
        ("cities.dat", "ID   : 1\n Name : Tea\n//\n" * 5, "cities.jsonl"),
        ("note.xml", "<?xml version='1.0'?><note><file>1.jpg</file><of><w>5</w><h>4</h></of></note>", "iterfind('.')"),
        ("sun.dat", "A spectrum of the sun\nas it was measured\n" + "280.0  4.7E-23\n" * 40, "grep -E"),
        ("mice.edgelist", "0 1 1446.0\n0 2 629.0\n0 4 773.0\n" * 4, "read_edgelist"),
        ("marked.json", json.dumps({"shapes": [{"label": "cup", "points": [[1, 2], [3, 4]]}]}), ".shapes[]"),
        ("inbox", "From a@b.org Mon\nTo: b@b.org\nDate: today\nSubject: tea\n\nTea?\n", "inbox-converted.mbox"),
    ],
)  # fmt: skip
def test_text_of_other_programs_is_refused_with_the_command_that_converts_it(tmp_path: Path, name, text, word):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as found:
        recognise([str(tmp_path / name)])
    assert word in str(found.value) and name in found.value.where and found.value.fix


def test_a_packed_text_of_another_program_is_unpacked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("a.fa.gz").write_bytes(gzip.compress(b">tea\nACGTACGTACGTACGT\n"))
    with pytest.raises(DataError, match="FASTA") as found:
        recognise(["a.fa.gz"])
    assert "gunzip -k a.fa.gz && awk" in found.value.fix and "> a.txt" in found.value.fix


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("a.cor", "__label__bad a café – cold\n" * 9, "fastText"),
        ("a.vec", "2 3\ncafé 0.1 0.2 0.3\nthé 0.2 0.1 0.4\n", "weft import"),
        ("letter", "From: a@b.org\nTo: b@b.org\nDate: today\nSubject: thé\n\nThé?\n", "formail"),
    ],
)
def test_the_form_of_a_text_is_known_in_another_encoding(tmp_path: Path, name: str, text: str, word: str):
    (tmp_path / name).write_text(text, encoding="cp1252")
    with pytest.raises(DataError) as found:
        recognise([str(tmp_path / name)])
    assert word in str(found.value)


def test_bytes_that_are_no_text_in_any_encoding_keep_the_name_of_their_format(tmp_path: Path):
    (tmp_path / "a.shp").write_bytes(b"\0\0\x27\x0a" + b"\0\0\0\1\0\0\1\0\0\0\2\xff" * 900)
    with pytest.raises(DataError, match="ogr2ogr"):
        recognise([str(tmp_path / "a.shp")])


def test_text_in_another_encoding_is_refused_for_that_when_it_is_read(tmp_path: Path):
    (tmp_path / "a.txt").write_text("Ein Café – warm.\n" * 9, encoding="cp1252")
    assert recognise([str(tmp_path / "a.txt")])[0].name == "language-model"
    with pytest.raises(DataError, match="Windows-1252"):
        read_corpus([tmp_path / "a.txt"])


@pytest.mark.parametrize("before", ["<!-- tea -->", "\n", " \n\t\n", "# tea\n", "/* tea */", "Tea: warm\n warm\n"])
def test_much_of_one_thing_before_a_text_costs_little(tmp_path: Path, before: str):
    (tmp_path / "a.txt").write_text(before * 2000 + "Tea is warm.")
    assert recognise([str(tmp_path / "a.txt")])[0].name == "language-model"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("misc.d.ts", "export interface Tea {\n  warm: boolean;\n  cups: number;\n}\n" * 5),
        ("graphs.txt", "graph theory; a text {of words}\n" * 9), ("poems.txt", "one two three\nfour five six\n" * 9),
        ("access.log", '10.0.0.1 - - [01/Jan/2024:10:00:01 +0000] "GET /tea HTTP/1.1" 200 123 "-" "Firefox"\n' * 12),
        ("lines.txt", "ANN: Is it warm?\nBOB: It is.\n\nBOB: Drink it.\nANN: I shall.\n\n" * 9),
        ("manual.txt", "*usr_05.txt*\tFor Tea\n\n\t\t     THE TEA MANUAL - by Ann\n\nTea can be warm.\n" * 3),
        ("play.txt", "From: Ann\nTo: Bob\n\nShall we have tea?\n" * 9),
        ("mail.eml", "From: ann@example.org\nSubject: Tea\n\nShall we have tea?\n"),
    ],
)  # fmt: skip
def test_text_with_words_stays_text(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)
    assert recognise([str(tmp_path / name)])[0].name == "language-model"


def test_a_mail_is_its_subject_and_its_text(tmp_path: Path):
    (tmp_path / "mail.eml").write_text("From: ann@example.org\nSubject: Tea\n\nShall we have tea?\n")
    assert (
        "".join(piece or "" for piece in read_corpus([tmp_path / "mail.eml"]).pieces()) == "Tea\n\nShall we have tea?"
    )


def test_a_folder_of_drawings_names_the_command_for_all_of_them(tmp_path: Path):
    for name in ("a.svg", "b.svg", "c.svg", "README.txt"):
        (tmp_path / name).write_text("<svg/>")
    with pytest.raises(DataError, match="3 of its 4 files") as found:
        recognise([str(tmp_path)])
    assert (
        """-name '*.svg' | while read -r f; do rsvg-convert -w 256 "$f" -o "${f%.svg}".png; done""" in found.value.fix
    )


def test_trees_are_known_by_what_a_txt_file_holds_and_can_be_checked(tmp_path: Path):
    path = tmp_path / "trees.txt"
    path.write_text(TREES * 6)
    found = weft.check(path, plan=False)
    assert (found.task, found.refused) == ("parse", None)


@pytest.mark.parametrize("text", ["(see the note below) It was late.\n", "(a) first (b) second\n", "and/or\n" * 9])
def test_plain_text_with_brackets_and_slashes_stays_text(tmp_path: Path, text: str):
    (tmp_path / "a.txt").write_text(text * 20)
    assert recognise([str(tmp_path / "a.txt")])[0].name == "language-model"


@pytest.mark.parametrize(
    ("first", "word"),
    [
        ({"text": "Ann met Bob", "label": [[0, 3, "PER"]]}, "tokens"),
        ({"messages": [{"content": "who?", "role": "user"}, {"content": "Ann", "role": "it"}], "images": ["1.jpg"]},
         "jq -c"),
        ({"conversations": [{"value": "who?"}, {"value": "Ann"}], "image": "1.jpg"}, ".image as $image"),
        ({"text": "Ann met Bob", "spans": [{"start": 0, "end": 3, "label": "PER"}], "answer": "accept"}, "s['start']"),
    ],
)  # fmt: skip
def test_objects_of_other_forms_are_refused_with_the_command_that_converts_them(tmp_path: Path, first, word: str):
    path = tmp_path / "a.jsonl"
    path.write_text((json.dumps(first) + "\n") * 12)
    with pytest.raises(DataError) as found:
        recognise([str(path)])
    assert word in found.value.fix


@pytest.mark.parametrize(
    "rows",
    [
        "column_data,column_label\nTerrible service.,negative\nGreat price.,positive\n",
        "subject,content\n" + "".join(f"{('maths', 'physics')[i % 2]},field {i}\n" for i in range(30)),
    ],
)
def test_labels_are_known_by_names_that_end_so_and_beside_a_named_text(tmp_path: Path, rows: str):
    (tmp_path / "a.csv").write_text(rows)
    assert recognise([str(tmp_path / "a.csv")])[0].name == "classify-text"


def test_a_list_of_one_label_is_that_label(tmp_path: Path):
    rows = [{"text": f"the text of number {i}", "label": [("good", "bad")[i % 2]]} for i in range(40)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = weft.check(tmp_path / "a.jsonl", plan=False)
    assert (found.task, found.defects) == ("classify-text", ())


def test_names_with_a_number_are_no_labelled_texts(tmp_path: Path):
    rows = "".join(f"Chrome {i}.0,{i / 7:.2f}\n" for i in range(30))
    (tmp_path / "a.csv").write_text("Browser Version,Share\n" + rows)
    assert weft.check(tmp_path / "a.csv", plan=False).task is None


def test_rows_of_numbers_in_runs_may_be_sets_and_their_columns_are_told_by_number(tmp_path: Path):
    rows = "".join(f"{bag % 2},{bag},{i * 0.37 + bag},{i * i * 0.11}\n" for bag in range(20) for i in range(3))
    (tmp_path / "a.csv").write_text(rows)
    found = weft.check(tmp_path / "a.csv", plan=False)
    assert found.task is None and "--task sets --set set_column=2 --set label_column=1" in (found.refused or {})["fix"]
    asked = weft.check(tmp_path / "a.csv", task="sets", plan=False, set_column="2", label_column="1")
    assert asked.refused is None and "20 labelled sets" in asked.facts.notes[0]


def test_folders_of_one_name_are_no_classes_and_json_beside_pictures_is_told(tmp_path: Path):
    for side in ("train", "test"):
        (tmp_path / side / "images").mkdir(parents=True)
        for number in range(3):
            (tmp_path / side / "images" / f"{number}.png").write_bytes(encoded(scene(seed=number)))
        (tmp_path / side / "questions.json").write_text('[["what is it?", "a cat", 0]]')
    with pytest.raises(DataError) as found:
        recognise([str(tmp_path)])
    assert "questions.json" in found.value.fix and "--task reconstruct-images" in found.value.fix


def test_lists_of_texts_with_a_class_each_have_a_command_that_writes_them_as_rows():
    found = form_of([{"name": who, "speeches": ["we all like a warm tea"] * 3} for who in "ab"])
    assert "jq -c '.[] | .name as $label | .speeches[]" in found.remedy(Path("a.json"), "a.json")
