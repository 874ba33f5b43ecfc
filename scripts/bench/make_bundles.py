"""Converts icons to bundles with Pillow, for scripts/bench/bundle.sh.

    make_bundles.py LIST FOLDER

LIST has one line per icon: url, title, file. Each icon becomes a PNG of at most 32x32 with Pillow's
defaults, and each 120 icons become a bundle in FOLDER. Prints a summary as one line on stderr.
"""

import base64
import io
import json
import pathlib
import sys
import time
import warnings

from PIL import Image

warnings.simplefilter("ignore")
TABS = 120


def tab(line):
    url, title, file = line.split("\t")
    entry = {"url": url, "title": title, "icon": "", "iframe_ok": True}
    try:
        with Image.open(file) as image:
            image = image.convert("RGBA")
        image.thumbnail((32, 32), Image.Resampling.BICUBIC)
        png = io.BytesIO()
        image.save(png, "PNG")
        entry |= {"icon": base64.b64encode(png.getvalue()).decode()}
        entry |= {"icon_w": image.width, "icon_h": image.height}
    except Exception:
        return entry, 1
    return entry, 0


def main():
    lines = pathlib.Path(sys.argv[1]).read_text().splitlines()
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    started = time.perf_counter()
    refused = size = 0
    for number, start in enumerate(range(0, len(lines), TABS)):
        tabs = [tab(line) for line in lines[start : start + TABS]]
        refused += sum(failed for _, failed in tabs)
        bundle = json.dumps({"entries": [entry for entry, _ in tabs]}, separators=(",", ":"))
        size += (folder / f"{number:04}.json").write_bytes(bundle.encode())
    seconds = time.perf_counter() - started
    print(f"hosts={len(lines)} bytes={size} refused={refused} seconds={seconds:.3f} "
          f"hosts_per_s={len(lines) / seconds:.0f}", file=sys.stderr)


main()
