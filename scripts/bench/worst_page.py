"""Measures how long another key's URLs wait during a crawl of pages with the most links and the
most expensive patterns.

scripts/bench/origins.sh calls this. Prints one line of JSON for single URLs alone, and one for
those during the crawl. Fails if a single URL is not captured, if too few pages of the crawl were
requested or, unless TARGETS=0, if a single URL waits a second longer than the slowest one did
alone.
"""

import os
import random
import sys
import time

from api import Client, Service, percentiles, settled
from crawl import FOLDER, Database, Workers, say, setting
from loopback_web import Host, Web, html

HOSTS, DELAY_MS = setting("HOSTS", 4), setting("DELAY_MS", 1_000)
SINGLES, SINGLE_HOSTS = setting("SINGLES", 60), setting("SINGLE_HOSTS", 10)
LINKS, MAX_URL_BYTES = 5_000, 2_048
# The patterns from examples/patterns_bench.rs in crates/core/frontier that take longest per
# byte.
WORST = [f"re:{window}.{{8}}c%"
         for window in ("[a-m0-4]", "[a-t]", "[ab]", "[acegikmoqsuwy02468]")]
# A single URL may wait at most this many seconds longer than without these pages.
MORE_S = 1


class WorstPages(Host):
    """A host whose pages have the maximum number of links, each with the maximum length."""

    def page(self, path):
        """Each page links to the next one, and to thousands of URLs that no include pattern
        matches."""
        if path == "/robots.txt":
            return super().page(path)
        number = int(path.rpartition("/")[2] or 0)
        chance = random.Random(f"{self.name}{path}")
        base = f"http://{self.name}/"
        base += "".join(chance.choices("ab", k=MAX_URL_BYTES - len(base) - 10)) + "/"
        links = "".join(f"<a href={chance.randrange(10**9):09}></a>" for _ in range(LINKS - 1))
        following = f'<a href="http://{self.name}/next/{number + 1}">next</a>'
        body = f"<base href={base}><p>{following}{links}".encode()
        return 200, html(self.name + path, []) + body


class Small(Host):
    def page(self, path):
        """Every path except robots.txt is a page."""
        return super().page(path) if path == "/robots.txt" else (200, html(self.name + path, []))


def singles(client, hosts, name):
    """Submits single URLs one after the other. Returns the seconds that each took."""
    took = []
    for number in range(SINGLES):
        begun = time.monotonic()
        settled(client, f"http://{hosts[number % len(hosts)].name}/{name}/{number}")
        took.append(time.monotonic() - begun)
        # A host's delay must be over before its next URL. The random part spreads requests over
        # the seconds.
        time.sleep(2 * DELAY_MS / 1e3 / len(hosts) + random.random())
    return took


def main():
    worst = [WorstPages(f"worst-{number}.test") for number in range(HOSTS)]
    small = [Small(f"small-{number}.test") for number in range(SINGLE_HOSTS)]
    web = Web([*worst, *small], FOLDER)
    database = Database("worst_page")
    with web, Service(database) as service, Workers(web, database, []):
        one, other = map(Client, service.keys(2))
        for host in small:
            settled(other, f"http://{host.name}/")
        alone = percentiles(singles(other, small, "alone"))
        say(what="worst page", beside="nothing", singles=SINGLES, **alone)
        settings = {"scope": "host", "depth": 1_000, "delay_ms": DELAY_MS, "exclude": WORST,
                    "include": ["*/next/*"], "site_pages": 1_000_000}
        urls = [f"http://{host.name}/next/0" for host in worst]
        one.must("POST", "/v1/crawls", {"urls": urls, "settings": settings})
        begun = time.monotonic()
        beside = percentiles(singles(other, small, "beside"))
        names = {host.name for host in worst}
        pages = sum(entry[3] in names and "/next/" in entry[4] for entry in web.log)
        rate = pages / (time.monotonic() - begun)
        say(what="worst page", beside="worst pages", singles=SINGLES, **beside,
            worst_pages=pages, worst_pages_per_s=round(rate, 2),
            more_median_s=round(beside["median_s"] - alone["median_s"], 2),
            more_max_s=round(beside["max_s"] - alone["max_s"], 2))
    if pages < SINGLES / 10:
        sys.exit(f"only {pages} pages of the crawl were requested")
    if beside["max_s"] > alone["max_s"] + MORE_S and os.environ.get("TARGETS") != "0":
        sys.exit(f"a single URL waited more than {MORE_S} s longer than alone")


if __name__ == "__main__":
    main()
