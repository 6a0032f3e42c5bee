"""The one file of a page: modules joined into one script, whose hash stands in a strict policy. Uses no network.

A file that is opened from a disk may not import modules, so each module becomes a function that gives what it exports.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from weft.errors import harmless
from weft.inspect.document import LookDocument, PageStream
from weft.inspect.figures import SHADES, png_of, shades

FIRST, STYLE = "main.js", "page.css"
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z-]+\.js)";\n', re.M)
EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|let|class) ([A-Za-z_$][\w$]*)", re.M)
EXPORT_LIST = re.compile(r"export\{([^}]*)\};?\s*$")
POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types lit-html"
)
MOST_READ = 40  # tokens whose most-read tokens are listed without JavaScript
LISTED = 3  # of what each read


@cache
def module(name: str) -> str:
    """The text of a module or of the styles."""
    return (files("weft.inspect.page") / name).read_text("utf-8")


def in_order(first: str = FIRST) -> list[str]:
    """The modules that one needs, each after those that it imports."""
    found: list[str] = []

    def visit(name: str) -> None:
        for match in IMPORT.finditer(module(name)):
            if match[2] not in found:
                visit(match[2])
        if name not in found:
            found.append(name)

    visit(first)
    return found


@cache
def script() -> str:
    """All modules as one script."""
    return "".join(_wrapped(name) for name in in_order())


def _wrapped(name: str) -> str:
    """A module as a function that gives its exports by their names."""
    text = module(name)
    listed = EXPORT_LIST.search(text)
    given = [pair.split(" as ")[::-1] for pair in listed[1].split(",")] if listed else []
    given += [[found, found] for found in EXPORT.findall(text)]
    body = EXPORT_LIST.sub("", text)
    body = IMPORT.sub(lambda match: f"const {{{match[1].replace(' as ', ': ')}}} = {_variable(match[2])};\n", body)
    body = re.sub(r"^export ", "", body, flags=re.M)
    exports = ", ".join(f"{outside.strip()}: {inside.strip()}" for outside, inside in given)
    return f"const {_variable(name)} = (() => {{\n{body.rstrip()}\nreturn {{{exports}}};\n}})();\n"


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))


def page(documents: Sequence[LookDocument]) -> bytes:
    """One file that shows a document, or two beside each other."""
    code, style = script(), module(STYLE)
    policy = POLICY.format(script=_hash(code), style=_hash(style))
    values = json.dumps([one.to_json() for one in documents], ensure_ascii=False, separators=(",", ":"))
    values = values.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    title = html.escape(harmless(documents[0].title) or "weft look")
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{title}</title><style>{style}</style>'
    )
    still = "".join(_still(one) for one in documents)
    return (
        f'<!doctype html><html lang="en"><head>{head}</head><body><div id="page">{still}</div>'
        f'<script type="application/json" id="documents">{values}</script>'
        f'<script type="module">{code}</script></body></html>\n'
    ).encode("utf-8", "replace")


def framed(content: bytes, height: int = 760) -> str:
    """A page inside another one, as in a notebook, where it can reach nothing but itself."""
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" title="weft look" width="100%" height="{height}" '
        f'style="border:0" srcdoc="{html.escape(content.decode())}"></iframe>'
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _still(document: LookDocument) -> str:
    """What is read where no script runs: the answer, pictures, what each token read most, and the mean matrix."""
    parts = [f"<h1>{_text(document.title)}</h1>", f"<p>{_text(document.about)}</p>"]
    if document.answer is not None:
        parts.append(f"<p>{_text(str(document.answer))}</p>")
    for image in document.pictures[:1]:
        data = base64.b64encode(image.content).decode()
        parts.append(f'<p><img class="still" alt="{_text(image.name)}" src="data:{image.media};base64,{data}"></p>')
    if document.streams:
        parts.append(_mean(document, document.streams[0]))
    parts += [f"<p>{_text(note)}</p>" for note in document.notes]
    return f'<main class="still">{"".join(parts)}<pre>{_text(document.text)}</pre></main>'


def _mean(document: LookDocument, stream: PageStream) -> str:
    """The mean of all heads as a picture, and what each token read most."""
    weights = stream.weights
    mean = weights.mean_head()
    levels = np.clip(np.abs(mean) / (np.abs(mean).max() or 1.0), 0, 1)
    picture = np.round(shades(SHADES)(levels)[..., :3] * 255).astype(np.uint8)
    name = f"{stream.by}: mean of {weights.layers} layers × {weights.heads} heads, readers down the side"
    data = base64.b64encode(png_of(picture)).decode()
    shown = f'<p><img class="still" alt="{name}" src="data:image/png;base64,{data}"><br>{name}</p>'
    tokens = {group.name: group.tokens for group in document.groups}
    rows = []
    for name, row in list(zip(tokens[stream.queries], mean, strict=True))[:MOST_READ]:
        best = [f"{tokens[stream.keys][i]} {row[i]:.2f}" for i in np.argsort(-row)[:LISTED] if row[i] > 0]
        rows.append(f"<tr><th>{_text(name)}</th><td>{_text(', '.join(best))}</td></tr>")
    return f"{shown}<table><caption>What each token reads most</caption>{''.join(rows)}</table>"


def _text(words: str) -> str:
    return html.escape(harmless(words))
