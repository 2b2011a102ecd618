"""Opens a page in headless Chromium, if it is installed, and examines the resulting picture."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)

browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (on Debian: apt install chromium)")


def chromium(tmp_path: Path, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page without a window. The browser's own network traffic is disabled."""
    quiet = ("--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage")
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    command = [str(CHROMIUM), "--headless", *sandbox, *quiet, "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}"]
    return subprocess.run(
        [*command, "--window-size=1300,900", *options, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )


def pixels(png: bytes) -> tuple[int, int, list[bytes]]:
    """Return the width, the bytes per pixel, and the lines of an 8-bit PNG."""
    at, data, width, size = 8, b"", 0, 3
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, size = struct.unpack(">I", body[:4])[0], 4 if body[9] == 6 else 3
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    raw, lines, before = zlib.decompress(data), [], bytes(width * size)
    for start in range(0, len(raw), width * size + 1):
        how, line = raw[start], bytearray(raw[start + 1 : start + 1 + width * size])
        for i in range(len(line)):
            left, up, corner = (line[i - size], before[i], before[i - size]) if i >= size else (0, before[i], 0)
            nearest = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            line[i] = line[i] + (0, left, up, (left + up) // 2, nearest)[how] & 255
        before = bytes(line)
        lines.append(before)
    return width, size, lines
