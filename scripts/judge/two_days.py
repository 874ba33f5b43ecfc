"""Crawls a graph of sites on two days, and judges both crawls. scripts/judge/graph.sh calls this.
"""

import json
import pathlib
import signal
import subprocess
import sys
import time

from crawl import FOLDER, Database, Internet, Workers, seeds_of, setting

# Time limit in seconds for a crawl and its indexes.
LIMIT_S = 300


def finished(database, crawl):
    """Waits until a crawl has ended and its indexes are written. Returns its document."""
    until = time.monotonic() + LIMIT_S
    while database.state(crawl)["indexes"] != "written":
        if time.monotonic() > until:
            print((FOLDER / "worker-0.log").read_text(encoding="utf-8")[-2000:], file=sys.stderr)
            sys.exit(f"two days: {crawl} has no indexes after {LIMIT_S} s: {database.state(crawl)}")
        time.sleep(1)
    folder = FOLDER / "store" / "crawl-data" / database.state(crawl)["name"]
    return folder.name, json.loads((folder / "crawl.json").read_text(encoding="utf-8"))["counts"]


def main():
    numbers = {"hosts": setting("GRAPH_HOSTS", 24), "pages": setting("GRAPH_PAGES", 600)}
    # Half of the leaf pages are files, and all PDF files on a site are identical.
    internet = Internet("--media", "500", "--copies", "1000", **numbers)
    seeds, own = seeds_of(internet.expected())
    with internet:
        database = Database("two_days")
        with Workers(internet, database, own):
            first = database.start(seeds, "--scope", "any", "--delay", "0s")
            earlier, counts = finished(database, first)
            if not counts["revisits"]:
                sys.exit("two days: the first crawl stored each copy of a file")
            internet.process.send_signal(signal.SIGUSR1)
            second = database.run("crawl", "start", "--again", first, "--to", FOLDER / "store")
            name, counts = finished(database, second.split()[0])
    pages = counts["by_subset"]["warc"]
    if not 0 < counts["revisits"] < pages:
        sys.exit(f"two days: {counts['revisits']} revisits of {pages} pages")
    judges = pathlib.Path(__file__).parent / "judges.py"
    for crawl in (earlier, name):
        command = [sys.executable, judges, FOLDER / "store", crawl, str(setting("REPLAYED", 200))]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
