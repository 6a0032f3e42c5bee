"""What files hold by their endings and first bytes: the formats of pictures, and archives. Needs no decoder."""

from pathlib import Path, PurePosixPath

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
ENDINGS = {
    ".png": "PNG", ".apng": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".jpe": "JPEG", ".jfif": "JPEG", ".webp": "WEBP",
    ".gif": "GIF", ".bmp": "BMP", ".dib": "BMP", ".tif": "TIFF", ".tiff": "TIFF", ".heic": "HEIF", ".heif": "HEIF",
    ".avif": "AVIF",
}  # fmt: skip
SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "PNG", b"\xff\xd8\xff": "JPEG", b"GIF87a": "GIF", b"GIF89a": "GIF", b"BM": "BMP",
    b"II*\0": "TIFF", b"MM\0*": "TIFF", b"II+\0": "TIFF", b"MM\0+": "TIFF",
}  # fmt: skip
BRANDS = {  # of files in the container that films have too
    b"heic": "HEIF", b"heix": "HEIF", b"heim": "HEIF", b"heis": "HEIF", b"hevc": "HEIF", b"mif1": "HEIF",
    b"msf1": "HEIF", b"avif": "AVIF", b"avis": "AVIF",
}  # fmt: skip


def format_of(head: bytes) -> str | None:
    """The format that the first bytes of a file announce."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        return BRANDS.get(head[8:12])
    return next((name for mark, name in SIGNATURES.items() if head.startswith(mark)), None)


def named_as_picture(name: str) -> bool:
    """Whether a file's name has the ending of a picture."""
    return PurePosixPath(name).suffix.lower() in ENDINGS


def is_archive(path: Path) -> bool:
    """Whether a file is an archive by its name."""
    return path.name.lower().endswith(ARCHIVES)
