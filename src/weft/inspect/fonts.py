"""Fonts for labels in any script: which installed families have the signs, and what to say when none has.

DejaVu Sans comes with matplotlib and has Latin, Greek, Cyrillic, Arabic and Hebrew. For other signs the installed fonts
are asked, those known to be good first, then those of the packages in `weft[cjk]`. Knows nothing of what is drawn.
"""

import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import regex

LATIN = "DejaVu Sans"
CHINESE = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Hiragino Sans GB",
    "Microsoft YaHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "SimHei", "Heiti SC", "Noto Sans CJK TC",
    "PingFang TC", "Microsoft JhengHei",
)  # fmt: skip
JAPANESE = (
    "Noto Sans CJK JP", "Noto Sans JP", "Source Han Sans", "Source Han Sans JP", "Hiragino Sans",
    "Hiragino Kaku Gothic Pro", "Yu Gothic", "Meiryo", "IPAexGothic", "IPAGothic", "TakaoGothic", "VL Gothic",
    "MS Gothic",
)  # fmt: skip
KOREAN = (
    "Noto Sans CJK KR", "Noto Sans KR", "Source Han Sans K", "Source Han Sans KR", "Apple SD Gothic Neo",
    "Malgun Gothic", "NanumGothic", "Nanum Gothic", "UnDotum", "Baekmuk Gulim",
)  # fmt: skip
BROAD = (
    "Noto Sans", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS", "Segoe UI", "Nirmala UI",
    "Leelawadee UI", "Droid Sans Fallback", "FreeSans", "Symbola", "Unifont",
)  # fmt: skip
PACKAGES = {  # font files in packages on PyPI, read without importing the package
    "zhplot": "NotoSansSC-Regular.ttf",
    "koreanize_matplotlib": "NanumGothic.ttf",
    "matplotlib_fontja": "ipaexg.ttf",
}
NO_FONTS = ("Last Resort", "LastResort", "Adobe Blank", "AdobeBlank")  # they claim every sign and draw none
NAMES = {
    "Cjk": "Chinese characters (hanzi, kanji)",
    "Hiragana": "Japanese kana",
    "Katakana": "Japanese kana",
    "Hangul": "Hangul",
}
SYMBOLS = "some symbols"
EAST = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}]"


def preferred(labels: Iterable[str]) -> list[str]:
    """Every family worth trying, in an order that fits the language of the labels: kana are Japanese, hangul Korean."""
    text = "".join(labels)
    order = [CHINESE, JAPANESE, KOREAN]
    if regex.search(r"[\p{Hiragana}\p{Katakana}]", text):
        order = [JAPANESE, CHINESE, KOREAN]
    elif regex.search(r"\p{Hangul}", text):
        order = [KOREAN, JAPANESE, CHINESE]
    return [LATIN, *(family for families in order for family in families), *BROAD]


def families(labels: Iterable[str]) -> list[str]:
    """The installed families that together have all signs of the labels that any has; DejaVu Sans first."""
    return _covered(labels)[0]


def without_font(labels: Iterable[str]) -> str:
    """The signs of the labels that no installed font has, each once."""
    return _covered(labels)[1]


def missing_glyphs(labels: Iterable[str]) -> str | None:
    """What to tell someone whose machine has no font for some of the labels; None where all can be drawn."""
    absent = without_font(labels)
    if not absent:
        return None
    scripts = list(dict.fromkeys(_script(sign) for sign in absent))
    scripts = [script for script in scripts if script != SYMBOLS] or scripts
    if regex.search(EAST, absent):
        fix = "pip install 'weft[cjk]', or install a font such as Noto Sans CJK (Debian: apt install fonts-noto-cjk)"
    else:
        fix = "install a font that has them, such as Noto Sans (Debian: apt install fonts-noto-core)"
    return (
        f"no installed font has {' and '.join(scripts)}, such as {' '.join(absent[:5])}: a PNG shows empty boxes "
        f"there\n  -> {fix}; or make an SVG, which a browser shows with its own fonts"
    )


def _covered(labels: Iterable[str]) -> tuple[list[str], str]:
    labels = list(labels)
    signs = dict.fromkeys(sign for label in labels for sign in label if not _invisible(sign))
    wanted = set(map(ord, signs)) - _signs(LATIN)
    found = [LATIN]
    for family in _installed(preferred(labels)) if wanted else ():
        if wanted & _signs(family):
            found.append(family)
            wanted -= _signs(family)
        if not wanted:
            break
    return found, "".join(sign for sign in signs if ord(sign) in wanted)


def _invisible(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cf", "Cc", "Zs") or "\ufe00" <= sign <= "\ufe0f"


def _script(sign: str) -> str:
    if unicodedata.category(sign) in ("So", "Sk", "Sm", "Cn", "Co"):
        return SYMBOLS
    first = unicodedata.name(sign, SYMBOLS).split()[0].title()
    return NAMES.get(first, f"{first} letters" if unicodedata.category(sign)[0] in "LM" else SYMBOLS)


def _installed(first: list[str]) -> list[str]:
    """The families to ask: the preferred ones, then all others by name."""
    known = _files()
    return [f for f in first if f in known and f != LATIN] + sorted(known.keys() - set(first))


@cache
def _files() -> dict[str, tuple[str, int]]:
    """The file of each installed family's regular face, and its number within that file."""
    from matplotlib.font_manager import fontManager

    for package, name in PACKAGES.items():
        spec = find_spec(package)
        path = Path(spec.origin or "").parent / "fonts" / name if spec else None
        if path is not None and path.is_file():
            fontManager.addfont(path)
    return {
        entry.name: (entry.fname, entry.index)
        for entry in sorted(fontManager.ttflist, key=lambda entry: entry.fname, reverse=True)
        if entry.style == "normal"
        and entry.weight in (400, "normal", "regular")
        and not entry.name.startswith(NO_FONTS)
    }


@cache
def _signs(family: str) -> frozenset[int]:
    """The code points that a family can draw; none for fonts made of pictures, which matplotlib cannot use."""
    from matplotlib.ft2font import FT2Font

    path, index = _files()[family]
    try:
        font = FT2Font(path, face_index=index)
        return frozenset(font.get_charmap()) if font.scalable else frozenset()
    except (RuntimeError, OSError):
        return frozenset()
