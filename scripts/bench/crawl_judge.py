"""Evaluates a crawl by the servers' access log and by the files that the crawler stored."""

import collections
import gzip
import json
import subprocess
import zlib

from crawl import by_key

# Minimum share of the delay that must pass between the starts of two requests. The servers log
# the time when they have read a request, which is a little after it was sent.
SHARE_OF_DELAY = 0.9
# Statuses after which a crawler may repeat a request: 0 (no response) and 503.
PASSING = (0, 503)


def accesses(internet):
    """Returns all requests in the log, including robots.txt: start and end in microseconds, status,
    host, path."""
    with open(internet.log, encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 6:
                yield int(fields[0]), int(fields[1]), int(fields[2]), fields[4], fields[5]


def keys_of(urls, known):
    lines = by_key([(url, url) for url in sorted(set(urls))], known)
    return {url: key for key, url in (line.split("\t") for line in lines)}


def site_of(host):
    labels = host.split(".")
    ends = (at for at, label in enumerate(labels) if label.endswith("-everytab-testbed"))
    first = next(ends, 0)
    return ".".join(labels[first:])


class World:
    """The URLs that a crawl of some sites in a graph must and must not fetch."""

    def __init__(self, expected):
        self.expected = expected
        homes = [url for url in expected if url.count("/") == 3 and url.endswith("/")]
        sites = list(dict.fromkeys(site_of(url.split("/")[2]) for url in homes))
        # Every fourth site is linked, but not in scope.
        self.sites = [site for number, site in enumerate(sites) if number % 4 != 3]
        self.seeds = [url for url in homes if self.has(url)]
        self.hosts = [url.split("/")[2] for url in self.seeds]
        self.must = self.that_end("ok", "redirected", "http_404_410")
        self.pages = self.that_end("ok")
        # The Crawl-delay in seconds of each host that has one.
        self.longer = {}

    def has(self, url):
        return site_of(url.split("/")[2]) in self.sites

    def that_end(self, *outcomes):
        ends = self.expected.items()
        return {url for url, outcome in ends if outcome in outcomes and self.has(url)}

    def found(self, lines):
        requests = [(f"http://{host}{path}", status) for _, _, status, host, path in lines
                    if path != "/robots.txt"]
        keys = keys_of((url for url, _ in requests), self.expected)
        again, pages = 0, set()
        for url, status in requests:
            again += keys[url] in pages
            if status not in PASSING:
                pages.add(keys[url])
        asked = {keys[url]: status for url, status in requests}
        inside = {key for key in asked if self.has(key)}
        forbidden = {key for key in asked if key.split("/")[3] == "private"}
        # Only links that crawlers must not follow lead to these pages. Images do not count as
        # pages.
        hidden = {key for key in inside - forbidden if key not in self.expected
                  and asked[key] == 200 and key.split("/")[3] != "media"}
        return {
            "must": len(self.must), "found": len(self.must & pages),
            "share": round(len(self.must & pages) / len(self.must), 4),
            "disallowed": len(forbidden), "nofollow": len(hidden),
            "outside": len(asked) - len(inside), "requests": len(lines), "again": again,
        }

    def kept(self, urls):
        """Returns how many of the pages a crawler stored, and how many of them twice."""
        keys = keys_of(urls, self.expected)
        twice = [url for url, times in collections.Counter(urls).items() if times > 1]
        kept = self.pages & set(keys.values())
        return {
            "pages": len(self.pages), "kept": len(kept),
            "kept_share": round(len(kept) / len(self.pages), 4), "kept_twice": len(twice),
        }


def haste(lines, delays):
    """Counts the requests that were sent too early. `delays` are in microseconds, by host.

    A request counts as `soon` if less than nine tenths of the delay have passed since the previous
    one started, as `within` if less than the delay has passed since the previous ones ended, and as
    `at_once` if one of these has not ended."""
    by_host = collections.defaultdict(list)
    for start, end, _, host, _ in lines:
        by_host[host].append((start, end))
    counts = collections.Counter(pairs=0, soon=0, within=0, at_once=0)
    for host, requests in by_host.items():
        if host not in delays:
            continue
        requests.sort()
        before, ended = requests[0]
        for start, end in requests[1:]:
            counts["pairs"] += 1
            counts["soon"] += start - before < SHARE_OF_DELAY * delays[host]
            counts["within"] += start - ended < delays[host]
            counts["at_once"] += start < ended
            before, ended = start, max(end, ended)
    return dict(counts)


def is_whole(file):
    """Returns true if a WARC file ends at a record's end. `warcio check` accepts truncated
    files."""
    opened, end = gzip.open if file.suffix == ".gz" else open, b""
    try:
        with opened(file, "rb") as stream:
            while part := stream.read(1 << 20):
                end = (end + part)[-4:]
    except (EOFError, OSError, zlib.error):
        return False
    return end == b"\r\n\r\n"


def archived(warcio, files):
    """Returns the URLs of successful responses in WARC files, and how many files are broken."""
    urls, broken = [], 0
    for file in files:
        command = [warcio, "index", "-f", "warc-type,warc-target-uri,http:status", file]
        index = subprocess.run(command, check=False, capture_output=True, text=True)
        records = [json.loads(line) for line in index.stdout.splitlines()]
        command = [warcio, "check", file]
        checked = subprocess.run(command, check=False, capture_output=True)
        if not is_whole(file):
            del records[-1:]
            broken += 1
        elif index.returncode or checked.returncode:
            broken += 1
        urls += [record["warc-target-uri"].strip("<>") for record in records
                 if record.get("warc-type") == "response" and record.get("http:status") == "200"]
    return urls, broken


def listed(texts):
    """Returns the URLs of successful responses in JSON strings, and how many strings are broken."""
    urls, broken = [], 0
    for text in texts:
        try:
            page = json.loads(text)
        except ValueError:
            broken += 1
            continue
        if page["status"] == 200:
            urls.append(page["url"])
    return urls, broken
