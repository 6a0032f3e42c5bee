"""The checksums of a PNG file. Decoders skip those of the pixels, so a flipped bit would show another picture."""

import struct
import zlib

from weft.errors import DataError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
FRAME = 12  # bytes around the content of a chunk: its length, its type, its checksum


def check_sums(data: bytes, *, where: str, fix: str) -> None:
    """Refuse a PNG with a chunk whose checksum is not that of its content, up to the end of the picture."""
    at = len(SIGNATURE)
    while at + FRAME <= len(data):
        (length,), kind = struct.unpack_from(">I", data, at), data[at + 4 : at + 8]
        end = at + FRAME + length
        if end > len(data):
            break
        (written,) = struct.unpack_from(">I", data, end - 4)
        if zlib.crc32(memoryview(data)[at + 4 : end - 4]) != written:
            problem = f"a damaged PNG file: the checksum of its part {kind!r} at byte {at:,} is wrong"
            raise DataError(problem, where=where, fix=fix)
        if kind == b"IEND":
            return
        at = end
    raise DataError("a damaged PNG file: its end is missing", where=where, fix=fix)
