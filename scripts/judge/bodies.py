"""Crawls pages with bodies that end early or have another coding than their heads declare, and
reads the crawl's files with warcio, DuckDB and pywb. scripts/judge/graph.sh calls this.
"""

import hashlib
import pathlib
import subprocess
import sys

import duckdb
from warcio.archiveiterator import ArchiveIterator

from crawl import FOLDER, Database, Internet, Workers, seeds_of
from two_days import finished

# Kinds of pages whose first part a client can decode, and kinds that cannot be decoded
# (crates/lab/testbed/src/graph/broken_bodies.rs).
STARTS = ("half-gzip", "half-deflate", "half-unended")
CODED = ("not-gzip", "dictionary", "head-of-gzip")
MARKED = (*STARTS, "length-too-long", "unended", "gzip-too-short", "head-of-gzip")


def crawled():
    options = ("--plain", "--http-only", "--traps", "broken_bodies", "--trap-hosts", "1000")
    internet = Internet(*options, hosts=1, pages=2)
    seeds, own = seeds_of(internet.expected())
    with internet:
        database = Database("bodies")
        with Workers(internet, database, own):
            crawl = database.start(seeds, "--scope", "host", "--delay", "0s")
            return finished(database, crawl)[0]


def of_pages(crawl):
    """Yields each page's kind, size and row, and its body as stored."""
    folder = FOLDER / "store" / "crawl-data" / crawl / "cc-index"
    table = f"{folder}/table/cc-main/warc/crawl={crawl}/subset=warc/*.parquet"
    columns = ("url_path", "fetch_status", "content_digest", "content_truncated",
               "warc_filename", "warc_record_offset")
    rows = duckdb.sql(f"select {', '.join(columns)} from read_parquet('{table}')").fetchall()
    empty = f"sha256:{hashlib.sha256(b'').hexdigest()}"
    for row in (dict(zip(columns, row)) for row in rows):
        if row["fetch_status"] == 200 and row["content_digest"] == empty:
            sys.exit(f"bodies: an empty page: {row}")
        with open(FOLDER / "store" / row["warc_filename"], "rb") as stream:
            stream.seek(row["warc_record_offset"])
            record = next(iter(ArchiveIterator(stream)))
            body = record.raw_stream.read()
        same("digest", row, row["content_digest"], f"sha256:{hashlib.sha256(body).hexdigest()}")
        mark = record.rec_headers.get_header("WARC-Truncated")
        same("WARC-Truncated", row, mark, row["content_truncated"])
        _, first, *rest = row["url_path"].split("/")
        if first == "broken" and len(rest) == 2:
            kind, size = rest
            coding = record.http_headers.get_header("Content-Encoding")
            same("Content-Encoding", row, bool(coding), kind in CODED)
            yield kind, int(size), row, body


def same(what, row, left, right):
    if left != right:
        sys.exit(f"bodies: {what} of {row}: {left!r} and {right!r}")


def main():
    crawl = crawled()
    judges = pathlib.Path(__file__).parent / "judges.py"
    subprocess.run([sys.executable, judges, FOLDER / "store", crawl, "1000"], check=True)
    pages = {(kind, size): (row, body) for kind, size, row, body in of_pages(crawl)}
    sizes = {size for _, size in pages}
    kinds = {kind for kind, _ in pages}
    same("pages", crawl, len(pages), len(sizes) * len(kinds))
    if not kinds.issuperset(MARKED + CODED):
        sys.exit(f"bodies: only {sorted(kinds)}")
    for (kind, size), (row, body) in pages.items():
        # Pages with the same size differ only in the name of their kind, in title and link.
        whole = pages["gzip", size][1].replace(b"gzip", kind.encode(), 2)
        if kind in STARTS:
            same("start", row, whole[: len(body)], body)
            same("length", row, size // 4 < len(body) < len(whole), True)
        elif kind == "head-of-gzip":
            same("start", row, body[:2], b"\x1f\x8b")
        else:
            same("body", row, body, whole)
        marked = "disconnect" if kind in MARKED else None
        same("content_truncated", row, row["content_truncated"], marked)
    print(f"bodies: {len(pages)} pages of {len(kinds)} kinds kept as they came (warcio, DuckDB)")


if __name__ == "__main__":
    main()
