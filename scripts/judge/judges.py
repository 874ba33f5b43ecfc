"""Has other people's programs judge what a live crawl left in a folder (scripts/judge/judges.sh).

    judges.py DATA PAGES

DATA is the folder of `local --sites`. PAGES of its captures are replayed. The last line says how
many of what passed; the first thing that differs ends the program with an error that names it.
"""

import collections
import gzip
import hashlib
import json
import logging
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from wsgiref.util import setup_testing_defaults

import duckdb
from warcio.archiveiterator import ArchiveIterator

data, wanted_pages = pathlib.Path(sys.argv[1]), int(sys.argv[2])
bucket = data / "crawls"
(crawl,) = [path.name for path in (bucket / "crawl-data").iterdir()]
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


# The lists name what is there, and warcio finds every record whole.
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

# cdxj-indexer says the same of each record.
indexes = folder / "cc-index" / "collections" / crawl / "indexes"
own = {}
for file in sorted(indexes.glob("cdx-*.gz")):
    with gzip.open(file, "rt") as lines:
        for line in lines:
            place, _, fields = line.partition(" {")
            fields = json.loads("{" + fields)
            own[(fields["filename"], fields["offset"])] = (place, fields)
again = {}
indexer = "import sys; from cdxj_indexer.main import main; main(sys.argv[1:])"
for path in listed:
    done = subprocess.run(
        [sys.executable, "-c", indexer, str(bucket / path)],
        capture_output=True,
        text=True,
        check=True,
    )
    for line in done.stdout.splitlines():
        place, _, fields = line.partition(" {")
        fields = json.loads("{" + fields)
        again[(path, fields["offset"])] = (place, fields)
same("the set of indexed records", sorted(own), sorted(again))
for key, (place, fields) in own.items():
    other_place, other = again[key]
    same(f"key and time of {key}", place, other_place)
    for name in ("url", "status", "length", "offset", "digest"):
        same(f"{name} of {key}", fields[name], other[name])

# DuckDB counts what the document says.
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
redirects = duckdb.sql(
    f"select count(*) from read_parquet('{table}/subset=warc/*.parquet') where url_path = '/'"
    " and (warc_filename, warc_record_offset) in (select (warc_filename, warc_record_offset) from"
    f" read_parquet('{table}/subset=warc/*.parquet') where url_path <> '/')"
).fetchall()[0][0]
same("the home pages that redirect", redirects, counts["home_redirects"])

# pywb finds pages by cluster.idx and replays the bytes that were archived.
bodies = {}
for path in archives["warc"]:
    with open(bucket / path, "rb") as stream:
        iterator = ArchiveIterator(stream)
        for record in iterator:
            if record.rec_type == "response":
                body = record.content_stream().read()
                headers = record.rec_headers
                bodies[headers["WARC-Target-URI"]] = (body, headers["WARC-Date"])
# Hosts with and without www share their key: what was captured in one second is one to pywb.
places = collections.Counter(place for place, _ in own.values())
alone = {fields["url"] for place, fields in own.values() if places[place] == 1}
pages = sorted(url for url in bodies if url in alone)
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

    for url in pages:
        body, date = bodies[url]
        timestamp = re.sub(r"\D", "", date)
        status, replayed = get(f"/crawl/{timestamp}id_/{url}")
        same(f"pywb's status of {url}", status.split()[0], "200")
        digests = [hashlib.sha256(bytes_of_page).hexdigest() for bytes_of_page in (replayed, body)]
        same(f"the replayed body of {url}", *digests)

print(
    f"judges: {len(listed)} archives whole (warcio), {len(own)} records indexed alike "
    f"(cdxj-indexer), {sum(rows.values())} rows in {len(found_tables)} files and {redirects} home "
    f"pages that redirect (DuckDB), {len(pages)} pages replayed (pywb)"
)
