"""Formats that people have and weft does not read: known by first bytes and ending, each with a command that converts it.

Knows names and commands; refuses to open anything. Formats that are text are in `foreign_text`, except PDF and RTF, whose
text is not what people see.
"""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.errors import DataError

TAR_ENDINGS = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tar")


@dataclass(frozen=True)
class Foreign:
    """A format: its name, and a command that makes a file of it that weft reads, none where there is no such command.

    In the command, {file} is the file and {stem} its name without the ending, both quoted for a shell.
    """

    name: str
    command: str = ""

    def remedy(self, path: Path, shown: str) -> str:
        """What to do with one file of this format."""
        if not self.command:
            return "leave this file out"
        ending = next((one for one in TAR_ENDINGS if shown.lower().endswith(one)), path.suffix)
        stem = shown[: len(shown) - len(ending)] if ending else f"{shown}-converted"
        return f"convert it: {self.command.format(file=shlex.quote(shown), stem=shlex.quote(stem))}"


def _pandas(call: str, ending: str = "csv") -> str:
    """A Python command that lets pandas read a file and write a table."""
    write = "to_csv(sys.argv[2], index=False)" if ending == "csv" else "to_parquet(sys.argv[2])"
    return f'python -c "import sys, pandas; pandas.{call}(sys.argv[1]).{write}" {{file}} {{stem}}.{ending}'


OFFICE = "libreoffice --headless --convert-to"
PDF = Foreign("a PDF document", "pdftotext {file} {stem}.txt")
WORD = Foreign("a Word document", "pandoc {file} -t plain -o {stem}.txt")
OLD_WORD = Foreign("an old Word document", f"{OFFICE} txt {{file}}")
OPEN_TEXT = Foreign("an OpenDocument text", "pandoc {file} -t plain -o {stem}.txt")
RTF = Foreign("a rich text file (RTF)", "pandoc {file} -t plain -o {stem}.txt")
EPUB = Foreign("an e-book (EPUB)", "pandoc {file} -t plain -o {stem}.txt")
SLIDES = Foreign("a presentation (slides)", f"{OFFICE} pdf {{file}} --outdir . && pdftotext {{stem}}.pdf {{stem}}.txt")
WORKBOOK = Foreign("an Excel workbook", f"{OFFICE} csv {{file}}")
OLD_WORKBOOK = Foreign("an old Excel workbook (.xls)", f"{OFFICE} xlsx {{file}}")
OPEN_SHEET = Foreign("an OpenDocument spreadsheet", f"{OFFICE} csv {{file}}")
OLD_OFFICE = Foreign("an old Office document", f"{OFFICE} pdf {{file}}")
SOUND = Foreign("a sound file", "whisper {file} --output_format txt")
FILM = Foreign("a film", "mkdir {stem} && ffmpeg -i {file} -vf fps=1 {stem}/%05d.jpg")
SQLITE = Foreign("an SQLite database", 'sqlite3 -header -csv {file} "select * from TABLE" > {stem}.csv')
ZIP = Foreign("a zip archive", "unzip {file} -d {stem}")
TAR = Foreign("a tar archive", "mkdir {stem} && tar -xf {file} -C {stem}")
SEVEN_ZIP = Foreign("a 7-Zip archive", "7z x {file} -o{stem}")
RAR = Foreign("a RAR archive", "unrar x {file}")
BZIP2 = Foreign("a bzip2 file", "bunzip2 --keep {file}")
XZ = Foreign("an xz file", "unxz --keep {file}")
ZSTD = Foreign("a zstd file", "zstd -d {file}")
MO = Foreign("a compiled message catalogue", "msgunfmt {file} -o {stem}.po")
PICKLE = Foreign("a Python pickle (it can run code when it is opened: trust its author)", _pandas("read_pickle"))
FEATHER = Foreign("a Feather or Arrow table", _pandas("read_feather", "parquet"))
PARQUET = Foreign("a Parquet table, without the ending .parquet", "cp {file} {stem}.parquet")
PROGRAM = Foreign("a program")
FONT = Foreign("a font")
WEIGHTS = Foreign(
    "weights of a model", "weft import FOLDER   # the folder with its config.json, if it is of Hugging Face"
)
DRAWN = Foreign("a picture of a kind that weft does not read", "magick {file} {stem}.png")
RAW = Foreign("a camera's raw picture", "magick {file} {stem}.jpg")
GRIB = Foreign("a GRIB file", "cdo -f nc copy {file} {stem}.nc")
HDF = Foreign(
    "an HDF5 file that is no netCDF",
    'python -c "import sys, h5py, numpy; f = h5py.File(sys.argv[1]); numpy.savez(sys.argv[2], **{{k: f[k][()] for k in f}})" '
    "{file} {stem}.npz",
)
MATLAB = Foreign(
    "a MATLAB file",
    'python -c "import sys, numpy, scipy.io; numpy.savez(sys.argv[2], **{{k: v for k, v in '
    "scipy.io.loadmat(sys.argv[1]).items() if k[0] != '_'}})\" {file} {stem}.npz",
)
R_DATA = Foreign("data of R", "Rscript -e 'a <- commandArgs(TRUE); write.csv(readRDS(a[1]), a[2], row.names = FALSE)' "
                 "{file} {stem}.csv")  # fmt: skip
MAP = Foreign("a map (vector layer)", "ogr2ogr -f CSV -lco GEOMETRY=AS_XY {stem}.csv {file}")
NOTEBOOK = Foreign("a Jupyter notebook", "jupyter nbconvert --to markdown {file}")
POINTS = Foreign(
    "points in space (a mesh or a cloud)",
    "python -c \"import sys, json, trimesh; print(json.dumps({{'set': trimesh.load(sys.argv[1], process=False)"
    ".vertices.tolist(), 'label': sys.argv[2]}}))\" {file} LABEL >> sets.jsonl   # a line for each file, with its class",
)
PCD = Foreign(
    "a cloud of points (PCD)",
    "python -c \"import sys, json, numpy, open3d; print(json.dumps({{'set': numpy.asarray(open3d.io.read_point_cloud("
    "sys.argv[1]).points).tolist(), 'label': sys.argv[2]}}))\" {file} LABEL >> sets.jsonl   # a line for each file",
)
OUTLOOK = Foreign("an Outlook mailbox", "readpst -o . {file}   # writes .mbox files")

ENDINGS: dict[str, Foreign] = {
    ending: known
    for endings, known in {
        ".pdf": PDF, ".docx .docm .dotx": WORD, ".doc .dot .wps .wpd .pages": OLD_WORD, ".odt .ott": OPEN_TEXT, ".rtf": RTF,
        ".epub": EPUB, ".pptx .ppt .odp .pps .ppsx .key": SLIDES, ".xlsx .xlsm": WORKBOOK, ".xls .xlt": OLD_WORKBOOK,
        ".ods .xlsb .numbers": OPEN_SHEET, ".mp3 .wav .flac .ogg .oga .opus .m4a .aac .aiff .aif .au .wma .mid": SOUND,
        ".mp4 .m4v .mkv .avi .mov .webm .mpg .mpeg .wmv .flv .3gp .ogv": FILM, ".db .sqlite .sqlite3 .db3": SQLITE,
        ".zip .jar .whl": ZIP, ".7z": SEVEN_ZIP, ".rar": RAR, ".bz2": BZIP2, ".xz": XZ, ".zst": ZSTD, ".mo .gmo": MO,
        ".pkl .pickle .joblib": PICKLE, ".feather .arrow": FEATHER, ".exe .dll .so .o .a .pyc .class .dylib .wasm": PROGRAM,
        ".ttf .otf .woff .woff2 .pfb .afm .ttc": FONT, ".pt .pth .ckpt .safetensors .gguf .onnx .tflite": WEIGHTS,
        ".psd .xcf .ico .icns .jp2 .j2k .jxl .tga .pcx .ppm .pgm .pbm .exr .hdr .dds .djvu": DRAWN,
        ".cr2 .cr3 .nef .arw .dng .orf .raf .rw2": RAW, ".grib .grb .grib2 .grb2": GRIB, ".h5 .hdf5 .hdf": HDF,
        ".mat": MATLAB, ".rds": R_DATA, ".shp .gpkg .kmz": MAP, ".dta": Foreign("a Stata file", _pandas("read_stata")),
        ".sav": Foreign("an SPSS file", _pandas("read_spss")), ".sas7bdat": Foreign("a SAS file", _pandas("read_sas")),
        ".off .ply .stl": POINTS, ".pcd": PCD, ".ipynb": NOTEBOOK, ".pst .ost": OUTLOOK, ".mobi .azw3": Foreign("an e-book", "ebook-convert {file} {stem}.txt"),
    }.items()
    for ending in endings.split()
}  # fmt: skip
CLOUD_ENDINGS = tuple(ending for ending, known in ENDINGS.items() if known in (POINTS, PCD))
SIGNATURES: tuple[tuple[bytes, Foreign], ...] = (
    (b"%PDF-", PDF), (b"{\\rtf", RTF), (b"SQLite format 3\0", SQLITE), (b"\xd0\xcf\x11\xe0", OLD_OFFICE), (b"ID3", SOUND),
    (b"fLaC", SOUND), (b"OggS", SOUND), (b"7z\xbc\xaf", SEVEN_ZIP), (b"Rar!", RAR), (b"\x28\xb5\x2f\xfd", ZSTD),
    (b"BZh", BZIP2), (b"\xfd7zXZ\0", XZ), (b"\x7fELF", PROGRAM), (b"\xde\x12\x04\x95", MO), (b"\x95\x04\x12\xde", MO),
    (b"PAR1", PARQUET), (b"\x89HDF", HDF), (b"GRIB", GRIB), (b"!BDN", OUTLOOK),
)  # fmt: skip
INSIDE_ZIP = {  # what the names at the start of a zip archive say
    b"word/": WORD, b"xl/": WORKBOOK, b"ppt/": SLIDES, b"opendocument.text": OPEN_TEXT, b"opendocument.spreadsheet": OPEN_SHEET,
    b"opendocument.presentation": SLIDES, b"application/epub": EPUB,
}  # fmt: skip
FTYP_SOUND = (b"M4A ", b"M4B ")
SOME = 3  # files of a folder that a command is shown for


def by_content(path: Path, head: bytes) -> Foreign | None:
    """The format that the first bytes announce; the ending tells apart what begins alike."""
    named = ENDINGS.get(path.suffix.lower())
    for mark, known in SIGNATURES:
        if head.startswith(mark):
            return named if known in (OLD_OFFICE, HDF) and named is not None else known
    if head[:4] == b"RIFF":
        return {b"WAVE": SOUND, b"AVI ": FILM}.get(head[8:12])
    if head[4:8] == b"ftyp" and not head[8:12].startswith((b"hei", b"hev", b"mif", b"msf", b"avi")):
        return SOUND if head[8:12] in FTYP_SOUND else FILM
    if head.startswith(b"PK\3\4") and path.suffix.lower() != ".npz":
        return named or next((known for mark, known in INSIDE_ZIP.items() if mark in head[:8192]), ZIP)
    return None


def by_ending(path: Path) -> Foreign | None:
    """The format that a file's name announces."""
    name = path.name.lower()
    return TAR if name.endswith(TAR_ENDINGS) else ENDINGS.get(path.suffix.lower())


def refusal(known: Foreign, path: Path, shown: str) -> DataError:
    """The error for a file of a format that weft does not read."""
    return DataError(f"{known.name}, which weft does not read", where=shown, fix=known.remedy(path, shown))


def refusal_of_folder(where: str, files: Sequence[Path], shown: Sequence[str]) -> DataError | None:
    """The error for a folder in which most files are of formats that weft does not read; None where they are not."""
    found = [(known, path, name) for path, name in zip(files, shown, strict=True) if (known := by_ending(path))]
    if not found or len(found) * 2 <= len(files):
        return None
    kinds = Counter(known.name for known, _, _ in found)
    most, count = kinds.most_common(1)[0]
    known, path, name = next(one for one in found if one[0].name == most)
    problem = f"{count} of its {len(files)} files are each {most}, which weft does not read"
    return DataError(
        problem,
        where=where,
        fix=f"{known.remedy(path, name)} (and the other files in the same way), then name the folder again",
    )
