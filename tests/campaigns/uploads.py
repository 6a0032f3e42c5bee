"""Hostile inputs over HTTP: pictures, fields and graphs that are damaged, lie or lead elsewhere, as bodies of requests.

Each is refused with a reason, or answered where its damage leaves it whole, within seconds and within a bounded memory;
what is asked next is answered as ever.
"""

import contextlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from shutil import copytree

import numpy as np
from helpers import processes
from helpers.pictures import chunk, encoded, png_header, scene
from helpers.trials import DATA

from campaigns import lies
from campaigns.tally import Tally
from weft.web.limits import Limits

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
SECONDS, MEMORY = 30.0, 2 * 2**10  # of an answer; MB that the server may hold
LONGEST = 4096  # bytes of a refusal
Ask = Callable[[str, str, bytes], tuple[int, bytes]]
"""Status and body of what a run answers to bytes that end as a file of some kind does."""


@dataclass(frozen=True)
class Upload:
    """Bytes for a run. `whole` says that they may be answered: damage can leave an input what it was."""

    run: str
    ending: str
    make: Callable[[], bytes]
    about: str
    whole: bool = False


GOOD = {
    "classify-images": (".png", encoded(scene())),
    "forecast": (".nc", (DATA / "basin.nc").read_bytes()),
    "graph": (".json", (DATA / "villages.json").read_bytes()),
}
KINDS = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp", "GIF": ".gif", "BMP": ".bmp", "TIFF": ".tif"}
NO_PICTURES = {
    "nothing": b"", "a web page": b"<!DOCTYPE html><html>404</html>", "a PDF": b"%PDF-1.7 ...",
    "Photoshop": b"8BPS\0\1" + bytes(40), "HEIC": b"\0\0\0\x18ftypheic" + bytes(40),
    "FITS": b"SIMPLE  =                    T" + bytes(50), "PostScript": b"%!PS-Adobe-3.0 EPSF-3.0\n(x) run\n",
    "a program": b"\x7fELF" + bytes(60), "a pickle": b"\x80\x04\x8c\x05posix\x8c\x06system\x93.",
    "an SVG": b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
}  # fmt: skip


def cut(data: bytes, share: float) -> bytes:
    return data[: int(share * len(data))]


def changed(data: bytes, seed: int) -> bytes:
    draw, bad = np.random.default_rng(seed), bytearray(data)
    for place in draw.integers(0, len(bad), 8):
        bad[place] = draw.integers(256)
    return bytes(bad)


def damaged(run: str, ending: str, data: bytes, times: int) -> Iterator[Upload]:
    """An input cut short, and with bytes that were changed."""
    for share in np.linspace(0.02, 0.9, times):
        yield Upload(run, ending, partial(cut, data, float(share)), f"{ending} cut short at {share:.2f}")
    for seed in range(times):
        yield Upload(run, ending, partial(changed, data, seed), f"{ending} with other bytes, {seed}", whole=True)


def pictures() -> Iterator[Upload]:
    """Damaged pictures, files of other kinds, pictures that become gigabytes."""
    for kind, ending in KINDS.items():
        yield from damaged("classify-images", ending, encoded(scene(90, 120), kind), 8)
    send = partial(Upload, "classify-images", ".png")
    for name, data in NO_PICTURES.items():
        yield send(lambda data=data: data, name)
    for kind in ("ICO", "PPM", "TGA", "PCX", "JPEG2000"):
        yield send(lambda kind=kind: encoded(scene(), kind), f"a {kind}")
    rows = zlib.compress(bytes(6251 * 1000)) * 2
    for side in (50_000, 2**20, 2**31 - 1):
        yield send(partial(lies.png, side), f"{side} pixels wide")
    yield send(lambda: png_header(50_000, 50_000, 1, 0) + chunk(b"IDAT", rows), "50,000 pixels wide, with rows")
    text = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(100 * 2**20)))
    yield send(lambda: encoded(scene())[:33] + text + encoded(scene())[33:], "100 MB of words in a PNG")


def fields() -> Iterator[Upload]:
    """Damaged netCDF files, those that lead elsewhere, and those whose numbers lie."""
    from helpers.grids import LEADING_ELSEWHERE, dataset, written

    yield from damaged("forecast", ".nc", GOOD["forecast"][1], 12)
    for name, craft in LEADING_ELSEWHERE.items():

        def leading(folder: Path, craft: Callable[[object], None] = craft) -> list[Path]:
            import h5py

            with h5py.File(path := written(folder / "a.nc", dataset()), "a") as file:
                craft(file)
            return [path]

        yield Upload("forecast", ".nc", partial(bytes_of, leading), f"{name} elsewhere")
    for lie in lies.fields():
        if lie.func is lies.netcdf:  # stores of zarr are folders, which no request has
            yield Upload("forecast", ".nc", partial(bytes_of, lie), f"fields {lie.keywords}")
    yield Upload("forecast", ".nc", lambda: b"CDF\x01" + b"\xff" * 60, "netCDF 3 of nothing")
    yield Upload("forecast", ".nc", lambda: b"\x89HDF\r\n\x1a\n" + bytes(4000), "HDF5 of nothing")


def graphs() -> Iterator[Upload]:
    """Damaged graphs, files that lie of every kind that may hold a graph, and nodes that are not there."""
    yield from damaged("graph", ".json", GOOD["graph"][1], 6)
    small = [lie for lie in lies.parquets() if lie.keywords["packing"] == "zstd"]  # the others become large bodies
    for lie in (*lies.graphs(), *lies.arrays(), *lies.workbooks(), *lies.json_texts(), *small):
        known = getattr(lie, "keywords", {})
        name = known.get("name") or {lies.workbook: "a.xlsx", lies.parquet: "a.parquet"}.get(lie.func, "a.npz")
        about = f"{name[2:]} {str(known)[:80]}"
        yield Upload("graph", Path(name).suffix, partial(bytes_of, lie), about)
    laughs = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    texts = {
        "laughing GraphML": (".graphml", f'<!DOCTYPE x [<!ENTITY e0 "ha">{laughs}]><graphml>&e9;</graphml>'),
        "GraphML that names a file": (".graphml", '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><graphml>&e;</graphml>'),
        "deep GraphML": (".graphml", "<graph>" * 200_000),
        "deep GML": (".gml", "graph [ " * 200_000),
        "GML without end": (".gml", 'graph [ node [ id 0 label "' + "a" * 10**6),
        "a text of 10^9 graphs": (".txt", "1000000000\n1 0\n0 0\n"),
        "a graph of 10^12 nodes": (".txt", "1\n1000000000000 0\n0 0\n"),
        "deep JSON": (".json", "[" * 100_000),
        "a node that is not there": (".json", '{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 9}]}'),
        "no nodes": (".json", '{"nodes": [], "links": []}'),
        "nodes that are no objects": (".json", '{"nodes": [1, null, []], "links": 3}'),
    }  # fmt: skip
    for name, (ending, text) in texts.items():
        yield Upload("graph", ending, text.encode, name)


def bytes_of(lie: lies.Lie) -> bytes:
    """What a file that is written into a folder holds."""
    with tempfile.TemporaryDirectory() as folder:
        return lie(Path(folder))[0].read_bytes()


EVERY: dict[str, Callable[[], Iterator[Upload]]] = {"pictures": pictures, "fields": fields, "graphs": graphs}


def tried(ask: Ask, upload: Upload) -> str | None:
    """What was wrong with the answer to an upload, and to what is asked after it."""
    content, start = upload.make(), time.monotonic()
    status, body = ask(upload.run, upload.ending, content)
    seconds = time.monotonic() - start
    if status not in ((200, 400, 413) if upload.whole else (400, 413)):
        return f"{upload.about}: {status}, {body[:300]!r}"
    if status != 200 and (len(body) > LONGEST or not json.loads(body)["error"]["message"]):
        return f"{upload.about}: a refusal of {len(body)} bytes"
    if seconds > SECONDS:
        return f"{upload.about}: answered after {seconds:.0f} seconds"
    ending, data = GOOD["classify-images"]
    if (status := ask("classify-images", ending, data)[0]) != 200:
        return f"{upload.about}: the next request was answered with {status}"
    return None


def uploads(place: Path) -> Tally:
    """All uploads, to a server in a process of its own."""
    tally = Tally()
    with serving(place) as (ask, held):
        for kind, made in EVERY.items():
            for upload in made():
                tally.count(kind, tried(ask, upload) or (f"{held():,.0f} MB" if held() > MEMORY else None))
        for name, (ending, data) in GOOD.items():
            status, body = ask(name, ending, data)
            tally.count("good inputs afterwards", None if status == 200 else f"{name}: {status}, {body[:300]!r}")
    return tally


@contextlib.contextmanager
def serving(place: Path) -> Iterator[tuple[Ask, Callable[[], float]]]:
    """What asks a server in a process of its own, and the megabytes that it held at most."""
    runs = [copytree(RUNS / name / "finished", place / name, dirs_exist_ok=True) for name in GOOD]
    command = [sys.executable, "-m", "weft", "serve", *map(str, runs), "--port", "0"]
    process = processes.start(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")
        port = next(int(found[1]) for line in lines if (found := re.search(r"serving at http://\S+:(\d+)/", line)))

        def ask(run: str, ending: str, body: bytes) -> tuple[int, bytes]:
            asked = HTTPConnection("127.0.0.1", port, timeout=120)
            headers = {"content-type": "application/octet-stream"}
            if len(body) > Limits().body:  # the connection ends before all of it is sent: its length is sent alone
                headers["content-length"], body = str(len(body)), b""
            asked.request("POST", f"/api/predict/{run}?ending={ending}", body, headers)
            answer = asked.getresponse()
            return answer.status, answer.read()

        yield ask, lambda: most_held(process.pid)
        assert process.poll() is None, "the server has ended"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def most_held(process: int) -> float:
    """The most megabytes that a process has held."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
