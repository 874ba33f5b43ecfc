"""Measures how outages of hosts affect a live crawl, and compares Scrapy.

scripts/bench/outages.sh calls this. Each host works until second 4 after the first request for a
page, then fails in one way for a while, and then works until the end. Each client has its own
hosts. Prints one line of JSON per host, and the tables for docs/benchmarks.md. Fails if our crawl
lost a page, a host's delay was violated, or no request was sent during an outage.
"""

import asyncio
import itertools
import os
import pathlib
import subprocess
import sys
import time

from crawl import FOLDER, Database, Workers, say, setting
from crawl_judge import haste
from loopback_web import (
    CLOSE, HANG, RESET, SERVFAIL, Answer, Host, Web, by_host, html, http_answer, microseconds,
    until_closed,
)

PAGES = setting("PAGES", 60)
LENGTHS = [int(word) for word in os.environ.get("LENGTHS", "8 120 1200").split()]
DELAYS = [int(word) for word in os.environ.get("DELAYS", "250 1000").split()]
CLIENTS = os.environ.get("CLIENTS", "everytab scrapy").split()
GOOD_S = 4
# Seconds between the starts of two crawls, so that one crawl's load does not slow down the
# other's first seconds.
STAGGER_S = setting("STAGGER_SECONDS", 20)
# Retry pauses double, so the last pause is at most as long as the outage.
LIMIT_S = setting("LIMIT_SECONDS", 2 * max(LENGTHS) + 300)
RETRY_AFTER_S = 10


def status_of(status, *headers):
    return Answer(status, http_answer(status, b"the server has failed", *headers))


def cut(head):
    """Returns a response that ends in the middle of its body."""
    return Answer(200, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head, CLOSE)


# `None` if the fault is not in the response.
FAULTS = {
    "refused": None, "reset": Answer(0, b"", RESET), "hang": Answer(0, b"", HANG),
    "dns-servfail": None, "dns-timeout": None, "tls-timeout": None, "408": status_of(408),
    "429": status_of(429), "429-retry-after": status_of(429, f"Retry-After: {RETRY_AFTER_S}"),
    **{str(status): status_of(status) for status in (500, 502, 503, 504, 520, 522, 527)},
    "cut-length": cut(b"Content-Length: 5000\r\n\r\n<p>the beginning"),
    "cut-chunked": cut(b"Transfer-Encoding: chunked\r\n\r\n10\r\n<p>the beginning\r\n"),
}
KINDS = os.environ.get("KINDS", " ".join(FAULTS)).split()


class Outage(Host):
    def __init__(self, client, kind, delay_ms, length_s):
        super().__init__(f"{kind}-{length_s}s-{delay_ms}ms-{client}.test")
        self.client, self.kind = client, kind
        self.delay_ms, self.length_s = delay_ms, length_s
        self.is_awaited, self.is_bad = False, False
        self.began = self.ended = None

    @property
    def seed(self):
        return f"http{'s' if self.kind == 'tls-timeout' else ''}://{self.name}/"

    async def open(self):
        if self.kind == "tls-timeout":
            await self.listen(443, self.serve, self.web.context)
        else:
            await self.listen(80, self.serve)

    def begin_after(self, seconds):
        """Starts the outage after this time, unless its start is already set."""
        if not self.is_awaited:
            self.is_awaited = True
            self.web.loop.call_later(seconds, self.begin)

    def begin(self):
        self.is_bad, self.began = True, microseconds()
        self.web.loop.call_later(self.length_s, self.end)
        if self.kind == "refused":
            self.close(80)
            self.drop()
        elif self.kind == "tls-timeout":
            asyncio.ensure_future(self.listen(443, self.serve_no_handshake))
            self.drop()

    def end(self):
        self.is_bad, self.ended = False, microseconds()
        if self.kind in ("refused", "tls-timeout"):
            asyncio.ensure_future(self.open())

    def lookup(self):
        """Fails from the first query on, because clients cache a name longer than GOOD_S."""
        if self.kind.startswith("dns-"):
            if not self.is_awaited:
                self.is_awaited = True
                self.begin()
            if self.is_bad:
                return SERVFAIL if self.kind == "dns-servfail" else None
        return 0

    async def serve_no_handshake(self, reader, writer):
        """Reads a TLS handshake and sends nothing."""
        await until_closed(reader)
        writer.close()

    def answer(self, path, is_https):
        if path != "/robots.txt":
            self.begin_after(GOOD_S)
        fault = FAULTS[self.kind] if self.is_bad else None
        return fault or super().answer(path, is_https)

    def page(self, path):
        """The home page links to all pages, and each page to the next five."""
        last = path.rpartition("/")[2]
        if path == "/":
            return 200, html(self.name, [f"/page/{number}" for number in range(PAGES)])
        if path.startswith("/page/") and last.isdecimal() and int(last) < PAGES:
            following = [(int(last) + step) % PAGES for step in range(1, 6)]
            return 200, html(self.name + path, ["/", *(f"/page/{to}" for to in following)])
        return super().page(path)

    def measure(self, requests, attempts, lookups):
        """Returns the host's requests and failures. During a DNS outage, these are the queries
        for its name."""
        def is_in(at):
            return self.began is not None and self.began <= at < (self.ended or at + 1)

        if self.kind in ("refused", "tls-timeout"):
            # No server receives a request, so each connection attempt counts as a failed one.
            failed = [(at, at, 0, self.name, "connect") for at, *_ in attempts if is_in(at)]
            requests = sorted(requests + failed)
        during = lookups if self.kind.startswith("dns-") else requests
        found = haste(requests, {self.name: self.delay_ms * 1e3})
        if self.kind == "429-retry-after":
            told = [entry for entry in requests if is_in(entry[0])]
            found["within"] += haste(told, {self.name: RETRY_AFTER_S * 1e6}).get("within", 0)
        span = requests[-1][1] - requests[0][0] if requests else 0
        return {"seconds": round(span / 1e6, 1), "requests": len(requests),
                "in_outage": sum(is_in(entry[0]) for entry in during),
                "soon": found["soon"], "within": found["within"]}


class Ours:
    def __init__(self, database, seeds, delay_ms):
        self.database = database
        self.crawl = database.start(seeds, "--scope", "host", "--delay", f"{delay_ms}ms")

    def has_ended(self):
        return self.database.state(self.crawl)["state"] == "ended"

    def stop(self):
        """Does nothing, because the worker stops with the benchmark."""

    def pages(self):
        """Returns the URLs of all recorded good pages, including those of other crawls."""
        return self.database.lines("select url from everytab.fetches where outcome = 'ok'")


class Scrapy:
    def __init__(self, seeds, delay_ms):
        script = pathlib.Path(__file__).with_name("outages_scrapy.py")
        self.listed = FOLDER / f"scrapy-{delay_ms}.txt"
        command = [os.environ["BENCH_SCRAPY"], script, seeds, delay_ms / 1e3, LIMIT_S]
        with open(self.listed, "w", encoding="utf-8") as listed, \
                open(self.listed.with_suffix(".log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(map(str, command), stdout=listed, stderr=log)

    def has_ended(self):
        return self.process.poll() is not None

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def pages(self):
        """Returns the URLs of all pages that were received completely with status 200."""
        return set(self.listed.read_text(encoding="utf-8").split())


def start(client, delay_ms, web, database):
    seeds = FOLDER / f"seeds-{client}-{delay_ms}.txt"
    mine = [host for host in web.hosts if (host.client, host.delay_ms) == (client, delay_ms)]
    seeds.write_text("".join(f"{host.seed}\n" for host in mine), encoding="utf-8")
    if client == "scrapy":
        return Scrapy(seeds, delay_ms)
    return Ours(database, seeds, delay_ms)


def crawl(web, database):
    """Crawls with all clients. Returns the good pages, and prints when each crawl ended."""
    running = {}
    for delay_ms, client in itertools.product(DELAYS, CLIENTS):
        if running:
            time.sleep(STAGGER_S)
        running[client, delay_ms] = start(client, delay_ms, web, database), time.monotonic()
    limit, waited_for = time.monotonic() + LIMIT_S, dict(running)
    while waited_for and time.monotonic() < limit:
        time.sleep(1)
        for (client, delay_ms), (crawler, began) in list(waited_for.items()):
            if crawler.has_ended():
                say(what="crawl", client=client, delay_ms=delay_ms,
                    ended_after_s=round(time.monotonic() - began))
                del waited_for[client, delay_ms]
    for client, delay_ms in waited_for:
        say(what="crawl", client=client, delay_ms=delay_ms, ended_after_s=None)
    pages = set()
    for crawler, _ in running.values():
        crawler.stop()
        pages.update(crawler.pages())
    return pages


def table(title, rows, cell):
    cases = list(itertools.product(CLIENTS, DELAYS, LENGTHS))
    heads = [f"{client}, {delay} ms, {length} s" for client, delay, length in cases]
    print(f"\n{title}\n\n| fault | {' | '.join(heads)} |\n| --- |{' --- |' * len(heads)}")
    for kind in KINDS:
        cells = (cell(rows[client, kind, delay, length]) for client, delay, length in cases)
        print(f"| {kind} | {' | '.join(map(str, cells))} |")
    sys.stdout.flush()


def main():
    cases = list(itertools.product(CLIENTS, KINDS, DELAYS, LENGTHS))
    web = Web([Outage(*case) for case in cases], FOLDER)
    database = Database("outages")
    with web, Workers(web, database, []):
        pages = crawl(web, database)
    captured = by_host(
        {(url.split("/")[2], url) for url in pages if url.split("/")[3] == "page"}, 0
    )
    seen = [by_host(web.log, 3), by_host(web.attempts, 1), by_host(web.lookups, 1)]
    rows, faults = {}, []
    for case, host in zip(cases, web.hosts):
        found = len(captured.get(host.name, []))
        row = {"captured": found, "pages": PAGES,
               **host.measure(*(log.get(host.name, []) for log in seen))}
        rows[case] = row
        client, kind, delay_ms, length_s = case
        say(what="outages", client=client, kind=kind, delay_ms=delay_ms, length_s=length_s, **row)
        if client == "everytab" and (found < PAGES or row["within"] or not row["in_outage"]):
            faults.append(host.name)
    table(f"Pages captured of {PAGES}", rows, lambda row: row["captured"])
    table("Seconds from a host's first request to its last; requests during the outage", rows,
          lambda row: f"{row['seconds']}; {row['in_outage']}")
    table("Requests sooner than nine tenths of the delay after the start of the one before; sooner "
          "than the delay after its end", rows, lambda row: f"{row['soon']}; {row['within']}")
    if faults:
        sys.exit(f"{len(faults)} hosts with lost pages, violated delays or no request in their "
                 f"outage: {' '.join(faults)}")


if __name__ == "__main__":
    main()
