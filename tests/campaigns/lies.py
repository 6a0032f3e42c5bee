"""Files that lie: small ones that become huge, counts that cannot be true, patterns that take quadratic time.

Each is written by a function of the folder it goes into; what it returns are the files to train on.
"""

import gzip
import io
import itertools
import json
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Lie = Callable[[Path], list[Path]]
BLOCK = 2**24
PACKINGS = {"deflate": zipfile.ZIP_DEFLATED, "lzma": zipfile.ZIP_LZMA}
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
ROW = b'<row><c t="inlineStr"><is><t>a</t></is></c></row>'


# Workbooks


def workbook(folder: Path, changed: dict[str, bytes], packing: str = "deflate", fill: str = "") -> list[Path]:
    """A workbook of two columns with parts put in place of its own; `fill` is repeated in the part that is named."""
    import openpyxl

    book, made = openpyxl.Workbook(), io.BytesIO()
    for n in range(40):
        book.active.append([f"text {n}", "ab"[n % 2]])
    book.save(made)
    path = folder / "book.xlsx"
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(path, "w", PACKINGS[packing]) as new:
        parts = {name: old.read(name) for name in old.namelist()}
        if TEXTS in changed:  # which the cells then name
            rows = (f'<row><c t="s"><v>0</v></c><c t="s"><v>{n % 2}</v></c></row>' for n in range(40))
            parts["xl/worksheets/sheet1.xml"] = sheet("".join(rows))
            parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace(
                b"</Types>", TEXTS_DECLARED + b"</Types>"
            )
        parts |= changed
        for name, content in parts.items():
            with new.open(name, "w", force_zip64=True) as file:
                head, _, tail = content.partition(b"REPEATED")
                file.write(head)
                one = FILLINGS.get(name, b"<a/>")
                for _ in range(5 if name == fill else 0):
                    file.write(one * (BLOCK // len(one)))
                file.write(tail)
    return [path]


TEXTS = "xl/sharedStrings.xml"
TEXTS_DECLARED = (
    b'<Override PartName="/xl/sharedStrings.xml" '
    b'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/>'
)
FILLINGS = {"xl/worksheets/sheet1.xml": ROW, TEXTS: b"<si><t>a</t></si>"}  # what is repeated in a part


def sheet(rows: str) -> bytes:
    return f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>".encode()


def workbooks() -> Iterator[Lie]:
    wrapped = {
        "xl/worksheets/sheet1.xml": sheet("REPEATED"),
        TEXTS: f"<sst {MAIN}>REPEATED</sst>".encode(),
        "xl/styles.xml": f"<styleSheet {MAIN}>REPEATED</styleSheet>".encode(),
        "xl/workbook.xml": f"<workbook {MAIN}>REPEATED</workbook>".encode(),
        "[Content_Types].xml": b"<Types>REPEATED</Types>",
        "docProps/core.xml": b"<a>REPEATED</a>",
        "xl/theme/theme1.xml": b"<a>REPEATED</a>",
    }
    for (name, content), packing in itertools.product(wrapped.items(), PACKINGS):
        yield partial(workbook, changed={name: content}, packing=packing, fill=name)
    cell = '<c r="A{0}" t="inlineStr"><is><t>a</t></is></c>'
    for number in (2**20 + 1, 2**24, 900_000_000, 2**31, 2**40, 10**18):
        rows = f'<row r="1">{cell.format(1)}</row><row r="{number}">{cell.format(number)}</row>'
        yield partial(workbook, changed={"xl/worksheets/sheet1.xml": sheet(rows)})
    wide = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 12_000))
    yield partial(workbook, changed={"xl/worksheets/sheet1.xml": sheet(wide)})
    laughs = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    for name in ("xl/worksheets/sheet1.xml", TEXTS, "xl/workbook.xml"):
        doctype = f'<!DOCTYPE x [<!ENTITY e0 "ha">{laughs}]>'.encode()
        yield partial(workbook, changed={name: doctype + wrapped[name].replace(b"REPEATED", b"<t>&e9;</t>")})
        yield partial(workbook, changed={name: b"<a>" * 200_000})


# Parquet


def parquet(folder: Path, columns: dict[str, Any], rows: int, packing: str) -> list[Path]:
    """Rows that are all equal, as many at a time as are quickly made."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    path = folder / "rows.parquet"
    size = min(rows, 10**6, max(1, BLOCK // max(len(str(value)) for value in columns.values())))
    table = pyarrow.table({n: pyarrow.repeat(pyarrow.scalar(v), size) for n, v in columns.items()})
    with ParquetWriter(path, table.schema, compression=packing) as writer:
        for _ in range(rows // size):
            writer.write_table(table)
    return [path]


def parquets() -> Iterator[Lie]:
    kinds: list[dict[str, Any]] = [{"text": "a", "label": "b"}, {"text": "a text of some length", "label": 1}]
    kinds += [{"source": "a", "target": "b"}, {"text": "a"}, {"text": "a", "label": 0.5}]
    for columns, packing in itertools.product(kinds, ("none", "snappy", "zstd")):
        yield partial(parquet, columns=columns, rows=30_000_000, packing=packing)
    for packing in ("snappy", "zstd"):  # as they are, such lists fill 34 MB and hold what they claim
        yield partial(parquet, columns={"text": "a", "label": 0.5, "more": [1, 2, 3]}, rows=30_000_000, packing=packing)
    for size, rows in ((10**6, 10_000), (2**24, 200), (2**26, 10)):
        yield partial(parquet, columns={"text": "a" * size, "label": "b"}, rows=rows, packing="zstd")


# Packed texts


def packed(folder: Path, name: str, line: bytes, members: int) -> list[Path]:
    """Many gzip members one after another, each a block of equal lines."""
    path = folder / name
    path.write_bytes(gzip.compress(line * (BLOCK // len(line)), 6) * members)
    return [path]


def packed_texts() -> Iterator[Lie]:
    lines = {"a.txt.gz": b"some words\n", "a.csv.gz": b"good,yes\nbad,no\n", "a.tsv.gz": b"a cat\tun chat\n",
             "a.jsonl.gz": b'{"text": "some words"}\n', "a.json.gz": b'[{"text": "a", "label": "b"}]',
             "b.jsonl.gz": b"a", "b.csv.gz": b'"', "b.txt.gz": b"\0", "c.txt.gz": b"a", "c.tsv.gz": b"\t",
             "d.csv.gz": b",", "d.json.gz": b"["}  # fmt: skip
    for (name, line), members in itertools.product(lines.items(), (5, 240)):
        yield partial(packed, name=name, line=line, members=members)


# JSON


def written(folder: Path, name: str, content: bytes) -> list[Path]:
    (folder / name).write_bytes(content)
    return [folder / name]


def json_texts() -> Iterator[Lie]:
    row = b'{"text": %s, "label": "a"}'
    values = {
        "digits": b"9" * 6000,
        "brackets": b"[" * 50_000,
        "objects": b'{"a":' * 50_000,
        "exponent": b"1e999999999",
    }
    for value, (name, form) in itertools.product(values, (("a.jsonl", b"%s\n"), ("a.json", b"[%s]"))):
        yield partial(written, name=name, content=form % (row % values[value]))
    for name in ("a.jsonl", "a.tsv", "a.csv"):
        yield partial(written, name=name, content=b'{"text": "' + b"a" * (65 * 2**20))
    for name in ("graph.json", "coco.json"):
        for value in (b"[" * 100_000, b"9" * 6000):
            key = b'"links"' if name == "graph.json" else b'"images"'
            yield partial(written, name=name, content=b'{"nodes": [], %s: %s' % (key, value))


# Mailboxes


def mailbox(folder: Path, content: bytes) -> list[Path]:
    path = folder / "mails.mbox"
    path.write_bytes(b"From a@b\n" + content + b"\n")
    return [path]


def mailboxes() -> Iterator[Lie]:
    for depth in (60, 500, 3000, 20_000):
        parts = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(depth))
        yield partial(mailbox, content=parts + b"\nhello")
        yield partial(mailbox, content=b"Content-Type: message/rfc822\n\n" * depth + b"\nhello")
    for count in (20_000, 500_000):
        yield partial(mailbox, content=b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\n" * count)


# Arrays


def npy(shape: Any, dtype: str = "<f4") -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def npz(folder: Path, members: dict[str, bytes], zeros: int = 0, packing: str = "deflate") -> list[Path]:
    """Arrays by their bytes, the first of them with zeros behind."""
    path = folder / "arrays.npz"
    with zipfile.ZipFile(path, "w", PACKINGS[packing]) as archive:
        for place, (name, content) in enumerate(members.items()):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                file.write(content)
                for start in range(0, zeros if place == 0 else 0, BLOCK):
                    file.write(bytes(min(BLOCK, zeros - start)))
    return [path]


def saved(folder: Path, **arrays: Any) -> list[Path]:
    np.savez(folder / "arrays.npz", **arrays)
    return [folder / "arrays.npz"]


def arrays() -> Iterator[Lie]:
    for name, shape in itertools.product(
        ("x", "edges"), ((10**12,), (10**6, 10**6), (2**62, 4), (-1, 2), (2, -(2**40)))
    ):
        yield partial(npz, members={name: npy(shape), "labels": npy((2,))})
    for packing in PACKINGS:
        yield partial(npz, members={"x": npy((2**17, 32, 32), "|u1"), "y": npy((2,))}, zeros=2**27, packing=packing)
    yield partial(npz, members={"x": npy("(" * 5000), "y": npy((2,))})
    yield partial(npz, members={"x": npy("9" * 6000), "y": npy((2,))})


# Graphs


def graphs() -> Iterator[Lie]:
    labels = np.array(["a", "b"] * 10)
    for most in (10**6, 10**7, 10**9, 10**12, 2**62):
        yield partial(saved, edges=np.array([[0, 1], [1, most]]), graph_labels=np.array(["a"]))
        yield partial(saved, edges=np.array([[0, 1], [1, 2]]), graph=np.array([0] * 19 + [most]), labels=labels)
    for wide in (10**8, 10**9, 10**12):
        x = {"x_indptr": np.arange(21), "x_indices": np.zeros(20, int), "x_shape": np.array([20, wide])}
        yield partial(saved, edges=np.array([[0, 1], [1, 2]]), labels=labels, **x)
    for nodes in (10**6, 4 * 10**6):
        yield partial(saved, edges=np.array([[0, 1], [1, 2]]), labels=np.arange(nodes, dtype=np.int8) % 2)
        edges = np.stack([np.arange(nodes), np.roll(np.arange(nodes), 1)], 1).astype(np.int32)
        yield partial(saved, edges=edges, labels=np.arange(nodes, dtype=np.int8) % 2)


# Fields


def netcdf(
    folder: Path, shape: tuple[int, int, int] = (24, 4, 8), spread: str = "t2m", **attributes: Any
) -> list[Path]:
    """A field whose values are never written, with attributes of the variable or of an axis."""
    import h5netcdf

    path = folder / "field.nc"
    sizes = dict(zip(("time", "lat", "lon"), shape, strict=True))
    with h5netcdf.File(path, "w") as file:
        file.dimensions = sizes
        for name, axis in (("time", np.arange), ("lat", lambda n: np.linspace(60, -60, n)), ("lon", np.arange)):
            if sizes[name] < 10**6:
                file.create_variable(name, (name,), "f8", data=axis(sizes[name]))
        units = {"time": "hours since 2000-01-01", "lat": "degrees_north", "lon": "degrees_east"}
        for name in set(units) & set(file.variables):
            file[name].attrs["units"] = units[name]
        chunks = tuple(min(side, 64) for side in shape)
        field = file.create_variable("t2m", ("time", "lat", "lon"), "i2", chunks=chunks)
        if np.prod(shape, dtype=float) < 10**6:
            field[:] = np.arange(np.prod(shape)).reshape(shape) % 100
        for key, value in attributes.items():
            file[spread].attrs[key] = value
    return [path]


def zarr(folder: Path, **changed: Any) -> list[Path]:
    import xarray

    axes = {"time": np.arange(24.0), "lat": np.linspace(60, -60, 4), "lon": np.arange(8.0)}
    values = np.random.default_rng(0).normal(size=(24, 4, 8)).astype("f4")
    made = xarray.Dataset({"t2m": (("time", "lat", "lon"), values)}, coords=axes)
    made["time"].attrs["units"] = "hours since 2000-01-01"
    path = folder / "field.zarr"
    made.to_zarr(path, zarr_format=2, consolidated=False)
    place = path / "t2m" / ".zarray"
    place.write_text(json.dumps({**json.loads(place.read_text()), **changed}))
    return [path]


def fields() -> Iterator[Lie]:
    bad = (np.inf, -np.inf, np.nan, 0.0, "many", np.array([1.0, 2.0]), 1e308, np.float32(3e38))
    for key, value in itertools.product(("scale_factor", "add_offset"), bad):
        if (key, value if np.ndim(value) == 0 else None) != ("add_offset", 0.0):
            yield partial(netcdf, **{key: value})
    for axis, value in itertools.product(("lat", "lon", "time"), (np.inf, np.nan, 1e308)):
        yield partial(netcdf, spread=axis, scale_factor=value)
    for shape in (
        (24, 500_000, 500_000),
        (24, 900_000, 4),
        (900_000, 10_000, 10_000),
        (10**9, 4, 8),
        (24, 10**12, 10**6),
    ):
        yield partial(netcdf, shape=shape)
    for shape in ([10**12, 4, 8], [24, 10**9, 10**9], [-24, 4, 8], [24, 4, 2**63], "[24, 4, 8]", [24.5, 4, 8], [24, 4]):
        yield partial(zarr, shape=shape)
    for chunks in ([0, 4, 8], [-1, 4, 8], [2**40, 2**40, 8], [1], None):
        yield partial(zarr, chunks=chunks)
    for dtype in ("|O", "<f4000000000", "|S999999999999", 3, [["a", "<f4"]]):
        yield partial(zarr, dtype=dtype)


# Archives of pictures


def tar_of_zeros(folder: Path, name: str, packing: str, size: int) -> list[Path]:
    path = folder / name
    with tarfile.open(path, f"w:{packing}") as tar:
        for number in range(size // BLOCK):
            info = tarfile.TarInfo(f"{'ab'[number % 2]}/{number}.png")
            info.size = BLOCK
            tar.addfile(info, io.BytesIO(bytes(BLOCK)))
    return [path]


def lying_zip(folder: Path, claimed: int, members: int) -> list[Path]:
    """Pictures that claim to be larger than they are."""
    path = folder / "pictures.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(members):
            archive.writestr(f"{'ab'[number % 2]}/{number}.png", b"\x89PNG\r\n\x1a\n" + bytes(100))
        for info in archive.infolist():
            info.file_size = claimed
    return [path]


def png(side: int, depth: int = 1) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, depth, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


def pictures_of(folder: Path, content: bytes) -> list[Path]:
    for number in range(20):
        place = folder / "pictures" / "ab"[number % 2] / f"{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return [folder / "pictures"]


def archives() -> Iterator[Lie]:
    for packing in ("gz", "bz2", "xz"):
        yield partial(tar_of_zeros, name=f"pictures.tar.{packing}", packing=packing, size=5 * BLOCK)
    for claimed, members in ((2**31, 20), (2**40, 20), (2**44, 200)):
        yield partial(lying_zip, claimed=claimed, members=members)
    for side in (50_000, 2**20, 2**31 - 1):
        yield partial(pictures_of, content=png(side))


EVERY: dict[str, Callable[[], Iterator[Lie]]] = {
    "workbooks": workbooks,
    "Parquet": parquets,
    "packed texts": packed_texts,
    "JSON": json_texts,
    "mailboxes": mailboxes,
    "arrays": arrays,
    "graphs": graphs,
    "fields": fields,
    "archives and pictures": archives,
}
