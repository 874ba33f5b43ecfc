"""Reads pages with FastWARC and Resiliparse, like examples/read_pages.rs: LIST [REPEAT]."""

import io
import sys
import time

from fastwarc.warc import ArchiveIterator
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree

rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1], encoding="utf-8")]
repeat = int(sys.argv[2]) if len(sys.argv) > 2 else 1
files = {path: open(path, "rb") for path, _, _ in rows}
pages = titles = icons = 0
start = time.monotonic()
for _ in range(repeat):
    for path, offset, length in rows:
        file = files[path]
        file.seek(int(offset))
        for record in ArchiveIterator(io.BytesIO(file.read(int(length))), parse_http=True):
            body = record.reader.read()
            encoding = record.http_charset or detect_encoding(body)
            tree = HTMLTree.parse(bytes_to_str(body, encoding))
            pages += 1
            titles += bool(tree.title)
            icons += len(tree.document.query_selector_all("link[rel~='icon']"))
seconds = time.monotonic() - start
rate = pages / seconds
print(f"{pages=} {titles=} {icons=} {seconds=:.3f} pages_per_s={rate:.0f}", file=sys.stderr)
