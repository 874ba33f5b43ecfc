"""Measures the HTTP service under load: submissions, waiting requests, single URLs, two keys.

scripts/bench/api.sh calls this. Prints one line of JSON per measurement, after checking its
results.
"""

import asyncio
import base64
import collections
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

from crawl import FOLDER, WORKER, Database, Internet, Workers, processor_seconds, say, setting

SCRIPTS = pathlib.Path(__file__).parent
SEATS = 32
# No mode may reach these limits, because we measure the service and not its rate limiter.
GENEROUS = ["--requests-per-second", "100000", "--burst", "1000000", "--min-delay", "0s"]


def memory(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    return None


def percentiles(seconds):
    """Returns the median, the 99th percentile and the maximum, in seconds."""
    seconds = sorted(seconds)
    return {
        "median_s": round(statistics.median(seconds), 2),
        "p99_s": round(seconds[min(len(seconds) - 1, int(len(seconds) * 0.99))], 2),
        "max_s": round(seconds[-1], 2),
    }


class Service:
    PORT = 8088

    def __init__(self, database):
        self.database = database
        url = database.url.replace("postgres@", "everytab_api@")
        url = url.replace("user=postgres", "user=everytab_api")
        command = [WORKER, "run", "--role", "api", "--listen", f"127.0.0.1:{self.PORT}"]
        command += ["--internet", "small"]
        (FOLDER / "store").mkdir(exist_ok=True)
        environment = {**os.environ, "DATABASE_URL": url, "EVERYTAB_LOG": "warn"}
        with open(FOLDER / "api.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*command, "--to", FOLDER / "store"], stderr=log, env=environment
            )
        self.address = f"http://127.0.0.1:{self.PORT}"

    def __enter__(self):
        until = time.monotonic() + 30
        while True:
            try:
                if Client(None).ask("GET", "/readyz")[0] == 200:
                    return self
            except OSError:
                pass
            if time.monotonic() > until or self.process.poll() is not None:
                sys.exit(f"the service did not start; see {FOLDER / 'api.log'}")
            time.sleep(0.1)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def keys(self, number):
        names = [f"bench {place}" for place in range(number)]
        return [self.database.run("keys", "add", name, *GENEROUS).strip() for name in names]

    def processor(self):
        return processor_seconds(self.process.pid)


class Client:
    """A client with a key. It opens a connection per request, because the service closes idle
    ones."""

    def __init__(self, key):
        self.key = key
        self.connection = http.client.HTTPConnection("127.0.0.1", Service.PORT, timeout=90)

    def ask(self, method, path, document=None):
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        headers["Connection"] = "close"
        body = None
        if document is not None:
            body = json.dumps(document)
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        is_json = answer.headers.get("Content-Type", "").endswith("json")
        return answer.status, json.loads(text) if is_json else text

    def must(self, method, path, document=None):
        status, found = self.ask(method, path, document)
        if not 200 <= status < 300:
            sys.exit(f"{method} {path}: {status} {found}")
        return found


def wrk(threads, connections, seconds, script, url, *arguments):
    command = ["wrk", "--threads", threads, "--connections", connections, "--duration",
               f"{seconds}s", "--timeout", "30s", "--latency", "--script", SCRIPTS / script, url]
    command = [*command, "--", *arguments]
    said = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(said.stdout.splitlines()[-1])


def submit():
    """Submits single URLs at an even rate, without workers."""
    for rate in map(int, os.environ.get("RATES", "1157 2300").split()):
        database, seconds = Database(f"submit_{rate}"), setting("SECONDS_A_RATE", 300)
        with Service(database) as service:
            keys = service.keys(setting("KEYS", 8))
            for key in keys:
                Client(key).must("POST", "/v1/url", {"url": "first.test"})
            log = database.number("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
            server, own = database.processor(), service.processor()
            # Run wrk for longer than requests are sent, so that the last responses arrive before
            # it ends.
            seen = wrk(2, setting("CONNECTIONS", 128), seconds + 2, "api_submit.lua",
                       service.address, rate / 2, seconds, *keys)
            server, own = database.processor() - server, service.processor() - own
            log = database.number("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn") - log
            mib = memory(service.process.pid)
        accepted = seen["accepted"] + len(keys)
        for sql in [
            "select sum(amount) from everytab.links",
            "select sum(seeds) from everytab.crawls",
            "select sum(urls) from everytab.api_usage",
        ]:
            if database.number(sql) != accepted:
                sys.exit(f"{sql}: {database.number(sql)}, accepted: {accepted}")
        if seen["broken"] or seen["sent"] != seen["accepted"] + seen["refused"]:
            sys.exit(f"requests without a response: {seen}")
        say(what="submit", rate=rate, seconds=seconds,
            accepted_per_s=round(seen["accepted"] / seconds, 1), refused=seen["refused"],
            p50_ms=seen["p50_ms"], p99_ms=seen["p99_ms"],
            postgres_cores=round(server / seconds, 3), api_cores=round(own / seconds, 3),
            wal_bytes_each=round(log / seen["accepted"]), api_mib=mib,
            commits_per_s=round(database.number(
                "select xact_commit from pg_stat_database where datname = current_database()"
            ) / seconds, 1))


async def waiting(key, path, answered):
    got, state = "closed", None
    reader, writer = await asyncio.open_connection("127.0.0.1", Service.PORT)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n"
                     "Connection: close\r\n\r\n".encode())
        await writer.drain()
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        if body:
            document, got = json.loads(body), head.split()[1].decode()
            state = document.get("state")
            if got != "200":
                comes_again = b"\r\nretry-after: " in head
                got += f" {document['code']}" + (" with Retry-After" if comes_again else "")
    except OSError as error:
        got = type(error).__name__
    answered.append((time.monotonic(), got, state))
    writer.close()


def fetch_of(url_id):
    """Returns crawl, host hash and URL hash from a URL's id, as in rows of fetches."""
    said = base64.b32decode(url_id.upper() + "=")
    hashes = [int.from_bytes(said[at : at + 8], "big") - (1 << 63) for at in (5, 13)]
    return int.from_bytes(said[1:5], "big"), *hashes


def record(database, ids):
    rows = ",".join(
        f"({crawl}, {host}, {url}, now(), 1, 0, 0, 'http_404', 404, 'https://x.test/')"
        for crawl, host, url in map(fetch_of, ids)
    )
    sql = ("insert into everytab.fetches (crawl, host_hash, url_hash, at, lease_number, slot, "
           f"depth, outcome, status, url) values {rows}")
    ended = subprocess.run(["psql", "-X", "-v", "ON_ERROR_STOP=1", "-d", database.url], check=False,
                           input=sql, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(ended.stderr[:500])


async def answer_all(service, database, ids, refused):
    """Opens waiting requests. Returns the memory that they take, and when each was answered."""
    answered = []
    tasks = [asyncio.create_task(waiting(key, f"/v1/url/{url_id}?wait=60", answered))
             for key, url_id in ids]
    await asyncio.sleep(10)
    with_them, own = memory(service.process.pid), service.processor()
    server = database.processor()
    await asyncio.sleep(10)
    own, server = service.processor() - own, database.processor() - server
    if len(answered) != refused:
        print(collections.Counter(got for _, got, _ in answered), file=sys.stderr)
        sys.exit(f"{len(answered)} requests did not wait, but only {refused} should be rejected")
    record(database, [url_id for _, url_id in ids])
    recorded = time.monotonic()
    await asyncio.gather(*tasks)
    got = collections.Counter(got for _, got, _ in answered)
    expected = {"200": len(ids) - refused, "429 too_many_waiters with Retry-After": refused}
    if got != collections.Counter(expected):
        sys.exit(f"not all waiting requests got a response: {dict(got)}")
    if any(state != "failed" for _, got, state in answered if got == "200"):
        sys.exit("not all waiting requests got the final state of their URL")
    took = [at - recorded for at, got, _ in answered if got == "200"]
    return with_them, took, own / 10, server / 10, dict(got)


def waiters():
    database, number = Database("waiters"), setting("WAITERS", 1000)
    with Service(database) as service:
        keys = service.keys(setting("KEYS", -(-number // SEATS)))
        ids, seats = [], collections.Counter()
        for place in range(number):
            key = keys[place % len(keys)]
            url = f"https://site-{place % 20}.test/{place}"
            ids.append((key, Client(key).must("POST", "/v1/url", {"url": url})["id"]))
            seats[key] += 1
        refused = sum(max(0, taken - SEATS) for taken in seats.values())
        before = memory(service.process.pid)
        with_them, took, own, server, got = asyncio.run(
            answer_all(service, database, ids, refused))
    say(what="waiters", waiters=len(ids), keys=len(keys), got=got, api_mib=before,
        api_mib_with_them=with_them, kib_each=round((with_them - before) * 1024 / len(ids), 1),
        api_cores_while_they_wait=round(own, 3), postgres_cores_while_they_wait=round(server, 3),
        **percentiles(took))


def graph():
    return Internet("--plain", "--http-only", "--slow", "1000", "--slow-ms", "100-100",
                    "--spread", "equal", "--page-bytes", "8000",
                    hosts=setting("HOSTS", 400), pages=setting("PAGES", 1_000_000))


def hosts_of(internet):
    few = Internet(*internet.options[5:], hosts=internet.hosts, pages=20 * internet.hosts)
    by_host = {}
    for url in few.expected():
        by_host.setdefault(url.split("/")[2], []).append(url)
    return by_host


def open_crawl(client, urls, scope="list", delay_ms=0):
    settings = {"scope": scope, "depth": 1000, "site_pages": 1_000_000, "delay_ms": delay_ms}
    return client.must("POST", "/v1/crawls", {"urls": urls, "settings": settings})["id"]


def settled(client, url):
    """Submits a URL. Returns the seconds until it is recorded."""
    begun = time.monotonic()
    found = client.must("POST", "/v1/url", {"url": url})
    while found["state"] == "due":
        if time.monotonic() - begun > 180:
            sys.exit(f"not recorded: {url}")
        found = client.must("GET", f"/v1/url/{found['id']}?wait=60")
    if found["state"] != "captured":
        sys.exit(f"{url}: {found}")
    return time.monotonic() - begun


def urgent():
    """Measures one key's single URLs while another key's crawl saturates the workers."""
    internet = graph()
    by_host = hosts_of(internet)
    hosts = sorted(by_host)
    sites = sorted({".".join(host.split(".")[-2:]) for host in hosts})
    sites = set(sites[: len(sites) // 10])
    alone = [host for host in hosts if ".".join(host.split(".")[-2:]) in sites]
    busy = [by_host[host][0] for host in hosts if host not in alone]
    with internet:
        database = Database("urgent")
        with Service(database) as service, Workers(internet, database, hosts, 2) as workers:
            one, other = map(Client, service.keys(2))
            for host in alone:
                # Make the crawler fetch the host's robots.txt before the measurement.
                one.must("POST", "/v1/url", {"url": by_host[host][0]})
            crawl = open_crawl(other, busy)
            time.sleep(setting("WARM_SECONDS", 40))
            begun, used = time.monotonic(), workers.processor()
            before = other.must("GET", f"/v1/crawls/{crawl}")["captured"]
            took = []
            for turn in range(setting("SINGLES", 60)):
                urls = by_host[alone[turn % len(alone)]]
                took.append(settled(one, urls[1 + turn // len(alone)]))
                time.sleep(1)
            after = other.must("GET", f"/v1/crawls/{crawl}")
            elapsed, used = time.monotonic() - begun, workers.processor() - used
            if after["state"] != "running":
                sys.exit("the large crawl ended before the last single URL: PAGES is too small")
    say(what="urgent", singles=len(took), **percentiles(took), known=after["known"],
        pending=after["pending"], worker_cores=round(used / elapsed, 2),
        pages_per_s=round((after["captured"] - before) / elapsed))


def fair():
    """Measures two keys: one with a large batch and one with ten URLs, then both with many."""
    internet = graph()
    by_host = hosts_of(internet)
    hosts, number = sorted(by_host), setting("URLS", 200_000)
    with internet:
        database = Database("fair")
        with Service(database) as service, Workers(internet, database, hosts, 2):
            large, small = map(Client, service.keys(2))
            settings = {"scope": "page", "depth": 0, "delay_ms": 0, "sitemaps": "off"}
            empty = {"urls": [], "settings": settings, "more": True}

            def crawl_of(client, mark, amount):
                crawl = client.must("POST", "/v1/crawls", empty)["id"]
                for begin in range(0, amount, 10_000):
                    # These URLs are not in the graph. Like all others they take 100 ms, and
                    # their status is 404.
                    urls = [f"http://{hosts[place % len(hosts)]}/{mark}/{place}"
                            for place in range(begin, min(amount, begin + 10_000))]
                    client.must("POST", f"/v1/crawls/{crawl}/urls",
                                {"urls": urls, "last": begin + 10_000 >= amount})
                return crawl

            first = crawl_of(large, "large", number)
            time.sleep(setting("WARM_SECONDS", 40))
            took = []
            ten = [by_host[host][0] for host in hosts[:: len(hosts) // 10][:10]]

            def time_one(url):
                took.append(settled(Client(small.key), url))

            threads = [threading.Thread(target=time_one, args=[url]) for url in ten]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if len(took) != 10:
                sys.exit("not all of the ten were recorded")
            second = crawl_of(small, "small", number // 4)
            time.sleep(setting("WARM_SECONDS", 40))
            window = setting("WINDOW_SECONDS", 40)
            time.sleep(window)
            until = (time.monotonic() - internet.begun) * 1e6
            for client, crawl in ((large, first), (small, second)):
                now = client.must("GET", f"/v1/crawls/{crawl}")
                if now["state"] != "running" or not now["pending"] + now["unread"]:
                    sys.exit(f"a crawl ended before the window did: URLS is too small: {now}")
    asked = {"large": 0, "small": 0}
    for start, _, _, _, path in internet.requests():
        mark = path.split("/")[1]
        if until - window * 1e6 <= start < until and mark in asked:
            asked[mark] += 1
    say(what="fair", urls=number, ten=percentiles(took), window_s=window,
        large_per_s=round(asked["large"] / window, 1),
        small_per_s=round(asked["small"] / window, 1),
        share_of_small=round(asked["small"] / sum(asked.values()), 3))


def load():
    database, seconds = Database("load"), setting("SECONDS_A_LOAD", 20)
    with Service(database) as service:
        asked = []
        for key in service.keys(setting("KEYS", 8)):
            found = Client(key).must("POST", "/v1/url", {"url": "https://a.test/"})
            asked += [key, f"/v1/url/{found['id']}"]
        cases = {"/healthz": [asked[0], "/healthz"], "/v1/url/{id} of one key": asked[:2],
                 f"/v1/url/{{id}} of {len(asked) // 2} keys": asked}
        for what, arguments in cases.items():
            server, own = database.processor(), service.processor()
            seen = wrk(2, setting("CONNECTIONS", 64), seconds, "api_load.lua", service.address,
                       *arguments)
            server, own = database.processor() - server, service.processor() - own
            if seen["refused"] or seen["broken"]:
                sys.exit(f"{what}: {seen}")
            say(what="load", path=what, seconds=seconds,
                requests_per_s=round(seen["answered"] / seen["seconds"]), p50_ms=seen["p50_ms"],
                p99_ms=seen["p99_ms"], api_cores=round(own / seconds, 2),
                postgres_cores=round(server / seconds, 2))


if __name__ == "__main__":
    MODES = {"submit": submit, "waiters": waiters, "urgent": urgent, "fair": fair, "load": load}
    MODES[sys.argv[1]]()
