#!/usr/bin/env python3
"""Makes fallback.bin: GNU Unifont's bitmaps for characters that DejaVu Sans Mono lacks.

    apt-get install unifont fonts-unifont && pip install fonttools
    ./make-fallback.py            # writes fallback.bin next to this script

Plane 0 comes from Debian's unifont.hex, the rest (emoji and the like) from the outlines of unifont_upper.otf, which are
pixels made of squares. Left out: control characters, private use, and what DejaVuSansMono.ttf has, unless a terminal
shows it over two columns and there is a bitmap as wide.

The file is a zlib stream of
    u32 LE               count of glyphs
    u32 LE  x count      code points, ascending; bit 31 set if the glyph is 16 pixels wide, clear if 8
    u8 x 16 x ...        the bitmaps in that order: 16 rows of 8 pixels, leftmost in the highest bit, a wide glyph as its
                         left half and then its right one (which compresses better than row by row)
The same input always makes the same bytes for one version of zlib.
"""

import pathlib
import struct
import unicodedata
import zlib

from fontTools.pens.recordingPen import RecordingPen
from fontTools.ttLib import TTFont

HERE = pathlib.Path(__file__).parent
PLANE_0 = pathlib.Path("/usr/share/unifont/unifont.hex")
UPPER = pathlib.Path("/usr/share/fonts/opentype/unifont/unifont_upper.otf")
WIDE = 1 << 31


def plane_0():
    for line in PLANE_0.read_text().splitlines():
        code, bits = line.split(":")
        rows = bytes.fromhex(bits)
        yield int(code, 16), rows if len(rows) == 16 else rows[::2] + rows[1::2]


def upper():
    font = TTFont(UPPER)
    glyphs = font.getGlyphSet()
    pixel = font["head"].unitsPerEm // 16
    top = font["hhea"].ascent // pixel
    for code, name in font.getBestCmap().items():
        if code > 0xFFFF:
            yield code, bitmap(glyphs[name], pixel, top)


def bitmap(glyph, pixel, top):
    """Returns the pixels whose centre is inside the outline."""
    pen = RecordingPen()
    glyph.draw(pen)
    edges, start, at = [], None, None  # Only vertical edges decide which pixels are inside.
    for verb, points in pen.value:
        to = start if verb == "closePath" else tuple(part // pixel for part in points[0])
        if verb == "moveTo":
            start = to
        elif at[0] == to[0] and at[1] != to[1]:
            edges.append((at[0], at[1], to[1]))
        at = to
    # A combining mark has no advance and may be left of its origin. Then its box is the previous cell.
    left = min((edge[0] for edge in edges), default=0)
    shift = 0 if left >= 0 else 8 if left >= -8 else 16
    right = max((edge[0] for edge in edges), default=0) + shift
    width = 16 if right > 8 or glyph.width > 8 * pixel else 8
    rows = bytearray()
    for row in range(16):
        low, high = top - row - 1, top - row
        winding, bits = 0, 0
        for column in range(width):
            for x, a, b in edges:
                if x + shift == column and min(a, b) <= low and max(a, b) >= high:
                    winding += 1 if b > a else -1
            bits = bits << 1 | (winding != 0)
        rows += bits.to_bytes(width // 8, "big")
    return bytes(rows) if width == 8 else bytes(rows[::2] + rows[1::2])


def wanted(code, bits, known):
    if unicodedata.category(chr(code)) in ("Cc", "Co", "Cs"):
        return False
    return code not in known or (len(bits) == 32 and unicodedata.east_asian_width(chr(code)) in "WF")


def main():
    known = TTFont(HERE / "DejaVuSansMono.ttf").getBestCmap()
    glyphs = {code: bits for source in (plane_0(), upper()) for code, bits in source if wanted(code, bits, known)}
    codes = sorted(glyphs)
    plain = struct.pack("<I", len(codes))
    plain += b"".join(struct.pack("<I", code | (WIDE if len(glyphs[code]) == 32 else 0)) for code in codes)
    plain += b"".join(glyphs[code] for code in codes)
    packed = zlib.compress(plain, 9)
    (HERE / "fallback.bin").write_bytes(packed)
    print(f"{len(codes)} glyphs, {len(plain)} bytes, {len(packed)} compressed")


main()
