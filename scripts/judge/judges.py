"""Judges a live crawl's files with other projects' programs (scripts/judge/judges.sh calls this).

    judges.py BUCKET CRAWL PAGES

BUCKET is the directory in which crawls are stored, and CRAWL is the name of one of them. PAGES of
its captures are replayed. The last line shows how many items passed each check. The first
difference ends the program with an error that names it.
"""

import collections
import gzip
import hashlib
import json
import logging
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from wsgiref.util import setup_testing_defaults

import duckdb
from warcio.archiveiterator import ArchiveIterator

bucket, crawl, wanted_pages = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
folder = bucket / "crawl-data" / crawl
document = json.loads((folder / "crawl.json").read_text())
counts = document["counts"]
SUBSETS = {
    "warc": "warc",
    "crawldiagnostics": "non200responses",
    "robotstxt": "robotstxt",
    "media": "media",
}


def same(what, left, right):
    if left != right:
        sys.exit(f"judges: {what} differs: {left!r} and {right!r}")


def paths(name):
    with gzip.open(folder / f"{name}.paths.gz", "rt") as lines:
        return lines.read().split()


def record_at(place):
    """Returns the headers and the stored body of the record at an offset in an archive."""
    path, offset = place
    with open(bucket / path, "rb") as stream:
        stream.seek(int(offset))
        record = next(iter(ArchiveIterator(stream)))
        return dict(record.rec_headers.headers), record.raw_stream.read()


def coding_at(place):
    """Returns the coding that the body at an offset in an archive still has, or None."""
    path, offset = place
    with open(bucket / path, "rb") as stream:
        stream.seek(int(offset))
        record = next(iter(ArchiveIterator(stream)))
        return record.http_headers.get_header("Content-Encoding")


# The lists must name exactly the existing archives, and warcio must find every record complete.
archives = {subset: paths(name) for subset, name in SUBSETS.items()}
listed = sorted(path for found in archives.values() for path in found)
there = sorted(str(path.relative_to(bucket)) for path in (folder / "segments").rglob("*.warc.gz"))
same("the lists of archives", listed, there)
same("the number of archives", len(listed), counts["archives"])
same("their bytes", sum((bucket / path).stat().st_size for path in listed), counts["bytes"])
check = "import sys; from warcio.cli import main; main(sys.argv[1:])"
for path in listed:
    done = subprocess.run(
        [sys.executable, "-c", check, "check", str(bucket / path)], capture_output=True, text=True
    )
    if done.returncode or "failed" in done.stdout:
        sys.exit(f"judges: warcio check {path}: {done.stdout}{done.stderr}")

# cdxj-indexer must return the same data for each record. A revisit's line points to the record with
# the body, which may belong to another URL or to an earlier crawl.


def split(line):
    """Returns a line's key and time, and its fields."""
    place, _, fields = line.partition(" {")
    return place, json.loads("{" + fields)


def record_of(fields):
    return fields["filename"], fields["offset"]


indexes = folder / "cc-index" / "collections" / crawl / "indexes"
own = []
for file in sorted(indexes.glob("cdx-*.gz")):
    with gzip.open(file, "rt") as lines:
        own += map(split, lines)
again, revisits = {}, {}
indexer = "import sys; from cdxj_indexer.main import main; main(sys.argv[1:])"
for path in listed:
    done = subprocess.run(
        [sys.executable, "-c", indexer, str(bucket / path)],
        capture_output=True,
        text=True,
        check=True,
    )
    for place, fields in map(split, done.stdout.splitlines()):
        if fields.get("mime") == "warc/revisit":
            revisits[(path, fields["offset"])] = (place, fields["url"])
        else:
            again[(path, fields["offset"])] = (place, fields)


def is_of_its_record(line):
    place, fields = line
    other_place, other = again.get(record_of(fields), (None, {}))
    return (place, fields["url"]) == (other_place, other.get("url"))


stored = [line for line in own if is_of_its_record(line)]
unchanged = [line for line in own if not is_of_its_record(line)]
same("indexed records", sorted(record_of(fields) for _, fields in stored), sorted(again))
for place, fields in stored:
    key = record_of(fields)
    other_place, other = again[key]
    same(f"key and time of {key}", place, other_place)
    for name in ("status", "length", "offset", "digest"):
        same(f"{name} of {key}", fields[name], other[name])

same("the number of revisits", len(revisits), counts["revisits"])
same(
    "the lines of revisits",
    sorted((place, fields["url"]) for place, fields in unchanged),
    sorted(revisits.values()),
)
revisit_at = {line: record_at(place)[0] for place, line in revisits.items()}
for place, fields in unchanged:
    revisit = revisit_at[(place, fields["url"])]
    headers, body = record_at(record_of(fields))
    same(f"the kind of record of {fields}", headers["WARC-Type"], "response")
    for name, value in (
        ("WARC-Target-URI", fields["url"]),
        ("WARC-Refers-To", headers["WARC-Record-ID"]),
        ("WARC-Refers-To-Target-URI", headers["WARC-Target-URI"]),
        ("WARC-Refers-To-Date", headers["WARC-Date"]),
        ("WARC-Payload-Digest", headers["WARC-Payload-Digest"]),
        ("WARC-Payload-Digest", fields["digest"]),
        ("WARC-Payload-Digest", f"sha256:{hashlib.sha256(body).hexdigest()}"),
    ):
        same(f"{name} of the revisit of {fields['url']}", revisit[name], value)

# DuckDB must count the rows that the document declares.
table = folder / "cc-index/table/cc-main/warc" / f"crawl={crawl}"
listed_tables = paths("cc-index-table")
found_tables = sorted(str(path.relative_to(bucket)) for path in table.rglob("*.parquet"))
same("the list of index files", listed_tables, found_tables)
rows = dict(
    duckdb.sql(
        f"select subset, count(*) from read_parquet('{table}/*/*.parquet', hive_partitioning=true)"
        " group by 1"
    ).fetchall()
)
same("the counts of rows", rows, {k: v for k, v in counts["by_subset"].items() if v})
pages_of_table = f"read_parquet('{table}/subset=warc/*.parquet', hive_partitioning=false)"
columns = duckdb.sql(f"describe select * from {pages_of_table}").fetchall()
same("the number of columns", len(columns), 31)
# All other rows belong to home pages that redirect.
table_rows = duckdb.sql(
    "select url, warc_filename, warc_record_offset from"
    f" read_parquet('{table}/*/*.parquet', hive_partitioning=true)"
).fetchall()
lines_as_rows = [(fields["url"], *record_of(fields)) for _, fields in own]
rows_left = collections.Counter((url, path, str(offset)) for url, path, offset in table_rows)
rows_left.subtract(lines_as_rows)
same("lines without a row", [row for row, amount in rows_left.items() if amount < 0], [])
rows_of_redirects = list(rows_left.elements())
redirects = [url for url, _, _ in rows_of_redirects]
same("the home pages that redirect", len(redirects), counts["home_redirects"])
same("other rows without a line", [url for url in redirects if url.count("/") != 3], [])
host_of = {record_of(fields): fields["url"].split("/")[2] for _, fields in own}
for url, *place in rows_of_redirects:
    same(f"the host of the page of {url}", host_of.get(tuple(place)), url.split("/")[2])

# Hosts with and without www share a key, so pywb cannot distinguish their captures from the
# same second.
places = collections.Counter(place for place, _ in own)
archives_of_pages = {*archives["warc"], *(fields["filename"] for _, fields in unchanged)}
pages = sorted(
    (place, fields["url"], *record_of(fields))
    for place, fields in own
    if places[place] == 1 and fields["filename"] in archives_of_pages
)
random.Random(1).shuffle(pages)
pages = pages[:wanted_pages]
with tempfile.TemporaryDirectory() as work:
    config = {
        "collections": {
            "crawl": {
                "archive_paths": f"{bucket}/",
                "index": {
                    "type": "zipnum",
                    "path": str(indexes / "cluster.idx"),
                    "shard_index_loc": {"match": "(.*)", "replace": "\\1"},
                },
            }
        }
    }
    pathlib.Path(work, "config.yaml").write_text(json.dumps(config))
    os.chdir(work)
    from pywb.apps.frontendapp import FrontEndApp

    app = FrontEndApp(config_file="config.yaml")

    logging.disable(logging.CRITICAL)

    def get(path):
        environ = {}
        setup_testing_defaults(environ)
        path, _, query = path.partition("?")
        uri = path + ("?" + query if query else "")
        environ.update(PATH_INFO=path, QUERY_STRING=query, REQUEST_URI=uri)
        answer = {}

        def start(status, headers, exc_info=None):
            answer.update(status=status, headers=headers)

        body = b"".join(app(environ, start))
        return answer["status"], body

    for place, url, *key in pages:
        timestamp = place.split()[-1]
        _, body = record_at(key)
        status, replayed = get(f"/crawl/{timestamp}id_/{url}")
        same(f"pywb's status of {url}", status.split()[0], "200")
        if replayed == b"" and coding_at(key):
            # pywb also tries to decode this coding, and shows nothing.
            continue
        digests = [hashlib.sha256(bytes_of_page).hexdigest() for bytes_of_page in (replayed, body)]
        same(f"the replayed body of {url}", *digests)

lines_of_revisits = {(place, fields["url"]) for place, fields in unchanged}
replayed_again = sum(page[:2] in lines_of_revisits for page in pages)
print(
    f"judges: {len(listed)} archives whole (warcio), {len(own)} records indexed alike "
    f"(cdxj-indexer), {sum(rows.values())} rows in {len(found_tables)} files and "
    f"{len(redirects)} home pages that redirect (DuckDB), "
    f"{len(revisits)} revisits of records that are there (warcio), "
    f"{len(pages)} pages replayed (pywb), {replayed_again} of them revisited"
)
