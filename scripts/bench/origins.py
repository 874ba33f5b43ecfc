"""Measures a live crawl of hosts that have good pages on one origin and faults on others.

scripts/bench/origins.sh calls this. One key crawls all hosts over the HTTP service, and submits
single URLs with faults. At the same time another key submits single good URLs on the same hosts.
Prints one line of JSON for each kind of host and one for all. Fails if a good page was lost, a
single URL was not captured, a host's delay was violated or, unless TARGETS=0, a target was missed.
"""

import concurrent.futures
import os
import sys
import time

from api import Client, Service, open_crawl, percentiles
from crawl import FOLDER, Database, Workers, say, setting
from crawl_judge import haste
from loopback_web import (
    Answer, Host, Web, by_host, html, http_answer, microseconds, reset, until_closed,
)

HOSTS, PAGES = setting("HOSTS", 100), setting("PAGES", 40)
SINGLES, DELAY_MS = setting("SINGLES", 100), setting("DELAY_MS", 1_000)
# The minimum time for a host's pages at its delay, including its robots.txt and home page.
ALLOWED_S = (PAGES + 2) * DELAY_MS / 1e3
LIMIT_S = setting("LIMIT_SECONDS", int(3 * ALLOWED_S + 60))
SINGLE_LIMIT_S = 60
# A key may have at most 32 waiting requests.
WAITING = 30
# The minimum share of the requests that the delays allow, and the maximum seconds until a
# single URL is recorded, as median and 99th percentile.
SHARE, MEDIAN_S, P99_S = 0.95, 3, 6


class Control(Host):
    """A host without faults: a home page that links to all pages, and pages."""

    kind = "control"
    bad_links = ()
    # A connection attempt to these ports counts as a failed request.
    bad_ports = ()

    def page(self, path):
        """The home page links to all pages, each page to the next five, all between bad links."""
        last = path.rpartition("/")[2]
        number = int(last) if last.isdecimal() else 0
        if path == "/":
            return 200, html(self.name, self.between_bad_links(range(PAGES)))
        if path in (f"/page/{number}", f"/single/{number}"):
            following = [(number + step) % PAGES for step in range(1, 6)]
            return 200, html(self.name + path, self.between_bad_links(following))
        return super().page(path)

    def between_bad_links(self, numbers):
        """Returns links to these pages, each after the bad links with its number."""
        for number in numbers:
            yield from (link.format(host=self.name, number=number) for link in self.bad_links)
            yield f"/page/{number}"


class DeadPorts(Control):
    kind = "dead-ports"
    bad_links = ("http://{host}:8080/bad/{number}", "https://{host}:8443/bad/{number}")
    bad_ports = (8080, 8443)


class BadTls(Control):
    """A host with links to https, where connections fail."""

    bad_links = ("https://{host}/bad/{number}",)
    bad_ports = (443,)

    async def open(self):
        await super().open()
        await self.listen(443, self.serve_https)

    async def serve_https(self, reader, writer):
        """Fails a connection when the handshake has begun."""
        try:
            await reader.read(1)
            await self.fail(reader, writer)
        except OSError:
            pass
        writer.close()


class TlsFails(BadTls):
    """A host that speaks plain HTTP on the port of https."""

    kind = "tls-fails"

    @staticmethod
    async def fail(reader, writer):
        """Responds to the handshake with plain text."""
        writer.write(http_answer(400, b"this is not https", "Connection: close"))
        writer.write_eof()
        await until_closed(reader)


class TlsResets(BadTls):
    """A host that resets connections to https."""

    kind = "tls-resets"

    @staticmethod
    async def fail(_, writer):
        reset(writer)


class Robots503(Control):
    """A host whose robots.txt returns 503 over https. Its pages there would be good."""

    kind = "robots-503"
    bad_links = BadTls.bad_links

    async def open(self):
        await super().open()
        await self.listen(443, self.serve, self.web.context)

    def answer(self, path, is_https):
        if path == "/robots.txt" and is_https:
            return Answer(503, http_answer(503, b"the server has failed"))
        return super().answer(path, is_https)


KINDS = [Control, DeadPorts, TlsFails, TlsResets, Robots503]


def settle(key, url):
    """Submits a URL. Returns the seconds until it is captured, or `None` if it is not."""
    client, begun = Client(key), time.monotonic()
    found = client.must("POST", "/v1/url", {"url": url})
    while found["state"] == "due" and (left := begun + SINGLE_LIMIT_S - time.monotonic()) > 0:
        found = client.must("GET", f"/v1/url/{found['id']}?wait={max(1, int(left))}")
    return time.monotonic() - begun if found["state"] == "captured" else None


def submit_singles(key, hosts):
    """Submits single URLs, spread over the time that the crawl takes. Returns (host, seconds)."""
    took = []
    with concurrent.futures.ThreadPoolExecutor(WAITING) as pool:
        for number in range(SINGLES):
            # The hosts' kinds alternate, so successive requests go to hosts of different kinds.
            host = hosts[number % len(hosts)]
            took.append((host, pool.submit(settle, key, f"http://{host.name}/single/{number}")))
            time.sleep(ALLOWED_S / SINGLES)
    return [(host, seconds.result()) for host, seconds in took]


def captured(database):
    sql = "select distinct url from everytab.fetches where outcome = 'ok' and url like '%/page/%'"
    return [url for url in database.lines(sql) if url.startswith("http://")]


def timelines(web):
    failed = [(at, at, 0, name, f":{port}") for at, name, port in web.attempts
              if port in web.by_name[name].bad_ports]
    return by_host(web.log + failed, 3)


def measure(host, requests, until):
    """Compares the time for a host's good pages with what its delay allows."""
    good = {entry[4]: entry[1] for entry in reversed(requests)
            if entry[4].startswith("/page/") and entry[2] == 200}
    if len(good) == PAGES:
        until = max(good.values())
    requests = [entry for entry in requests if entry[0] <= until]
    if not requests:
        sys.exit(f"{host.name} got no request")
    useful = 1 + sum(path in good or path == "/" or path.startswith("/single/")
                     for *_, path in requests)

    def allowed(number):
        answering = sum(end - start for start, end, *_ in requests)
        return (number - 1) * DELAY_MS * 1e3 + answering * number / len(requests)

    return {
        "span": until - requests[0][0], "allowed": allowed(len(requests)),
        # Useful requests are those for good pages, and for the robots.txt of their origin.
        "useful": allowed(useful), "others": len(requests) - useful,
        "within": haste(requests, {host.name: DELAY_MS * 1e3})["within"],
    }


def summary(hosts, pages, measured, singles):
    sums = {name: sum(measured[host.name][name] for host in hosts)
            for name in ("span", "allowed", "useful", "others", "within")}
    names = {host.name for host in hosts}
    took = [seconds for host, seconds in singles if host.name in names]
    return {
        "hosts": len(hosts), "pages": len(hosts) * PAGES,
        "captured": sum(url.split("/")[2] in names for url in pages),
        "share": round(sums["allowed"] / sums["span"], 3),
        "useful_share": round(sums["useful"] / sums["span"], 3),
        "others_a_host": round(sums["others"] / len(hosts), 1), "within": sums["within"],
        "singles": len(took), "singles_lost": took.count(None),
        **(percentiles([seconds or SINGLE_LIMIT_S for seconds in took]) if took else {}),
    }


def crawl(web, database, service):
    one, other = service.keys(2)
    begun = time.monotonic()
    open_crawl(Client(one), [f"http://{host.name}/" for host in web.hosts], "host", DELAY_MS)
    # Single URLs are fetched before a crawl's URLs. These are submitted before the other key's.
    for host in web.hosts:
        for link in host.bad_links:
            url = link.format(host=host.name, number="single")
            Client(one).must("POST", "/v1/url", {"url": url})
    # Wait until the crawl has found the hosts' links to bad URLs.
    time.sleep(2 * DELAY_MS / 1e3)
    singles = submit_singles(other, web.hosts)
    wanted = len(web.hosts) * PAGES
    while len(pages := captured(database)) < wanted and time.monotonic() - begun < LIMIT_S:
        time.sleep(1)
    return pages, singles


def main():
    web = Web([KINDS[number % len(KINDS)](f"{KINDS[number % len(KINDS)].kind}-{number}.test")
               for number in range(HOSTS)], FOLDER)
    database = Database("origins")
    with web, Service(database) as service, Workers(web, database, []):
        pages, singles = crawl(web, database, service)
    until, seen = microseconds(), timelines(web)
    measured = {host.name: measure(host, seen.get(host.name, []), until) for host in web.hosts}
    for kind in KINDS:
        hosts = [host for host in web.hosts if type(host) is kind]
        say(what="origins", kind=kind.kind, **summary(hosts, pages, measured, singles))
    whole = summary(web.hosts, pages, measured, singles)
    say(what="origins", kind="all", **whole)
    wrong = whole["captured"] != whole["pages"] or whole["singles_lost"] or whole["within"]
    missed = (whole["share"] < SHARE or whole["median_s"] > MEDIAN_S or whole["p99_s"] > P99_S)
    if wrong or (missed and os.environ.get("TARGETS") != "0"):
        sys.exit(f"pages or single URLs lost, delays violated, or a target missed (share {SHARE}, "
                 f"median {MEDIAN_S} s, p99 {P99_S} s)")


if __name__ == "__main__":
    main()
