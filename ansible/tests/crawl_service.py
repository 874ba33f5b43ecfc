"""Tests a crawl service in the boot test, after two months of scans.

Its console, a crawler and a machine with the HTTP service follow docs/crawl.md from "Setting up a
crawl service" on. This also tests that the service's user is fenced in, stops, kills and starts
units, changes the image, and destroys everything.
"""
import json
import time

from second_month import SCHEMA, another_image
from site_checks import LOGS, expect, published, say, tabs
from surroundings import DATABASE, GATEWAY, STORE, wait_for

SET_UP = "Setting up a crawl service"
WATCH = "Watching a crawl service"
CHANGE = "Another image of a crawl service"
START = "sudo everytab-owner crawl start https://www.example.com/ --limit 10"
UNITS = ("everytab-prepare", "everytab-crawl-counts", "everytab-token@crawl", "everytab-crawl",
         "everytab-token@api", "everytab-api", "everytab-ready", "caddy")
CRAWL, API = "everytab-crawl.service", "everytab-api.service"
# Maximum seconds for a service to stop. systemd waits longer before it kills it.
STOPS_WITHIN = 45
# Files, and a user who must not be able to read them, by kind of machine.
HIDDEN = {
    "crawler": [("/etc/everytab/broker.env", "everytab-crawl"), ("/etc/everytab/crawl.env", "unbound"),
                ("/run/everytab-broker/process.env", "everytab-crawl"),
                ("/run/everytab-crawl/pgpass", "unbound")],
    "api": [("/etc/everytab/broker.env", "everytab-api"), ("/etc/everytab/api.env", "caddy"),
            ("/run/everytab-broker/process.env", "everytab-api"), ("/run/everytab-api/pgpass", "caddy"),
            ("/etc/everytab/proxy.env", "everytab-api")],
    "crawl_console": [("/etc/everytab/crawls.env", "everytab-crawl"),
                      ("/etc/everytab/crawls.env", "everytab-broker")],
}
# Addresses that the service's user can reach, and addresses that only other users can reach.
OPEN = [(DATABASE, 5432), (STORE, 443), ("127.0.0.1", 8471), ("127.0.0.1", 53)]
CLOSED = [(GATEWAY, 443), (GATEWAY, 53), ("127.0.0.1", 443), ("169.254.169.254", 80)]
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 3)"
COUNTS = {"DueHosts", "DueHostsPerWorker", "LiveWorkers", "RunningCrawls", "UnheldSlots", "ApiReady"}


class Service:
    def __init__(self, world, book):
        self.world, self.book = world, book
        self.console = self.crawler = self.api = None
        self.hosts = []

    def sql(self, statement):
        return self.world.sql(statement, "everytab", quietly=True)

    def apply(self, heading, step=None, place="laptop"):
        self.book.perform(heading, step, place=place)
        self.world.cloud.follow(self.book.laptop.state())

    def held(self):
        return int(self.sql("select count(*) from everytab.slots where lease_token is not null") or 0)

    def ask(self, method, path, key=None, body=None):
        """Sends a request through the proxy, from the proxy's machine. Returns (status, text)."""
        words = ["curl", "-sSk", "--max-time", "90", "-X", method, "-w", "\n%{http_code}"]
        words += ["-H", f"Authorization: Bearer {key}"] if key else []
        words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)] if body else []
        text, _, status = self.api.do(*words, "https://localhost" + path).rpartition("\n")
        return int(status), text

    def settled(self, key, url):
        """Submits a URL with a key, and returns its final state."""
        status, text = self.ask("POST", "/v1/url", key, {"url": url})
        expect(status == 202, f"{url} is submitted: {status} {text}")
        found = json.loads(text)
        while found["state"] == "due":
            found = json.loads(self.ask("GET", f"/v1/url/{found['id']}?wait=60", key)[1])
        return found

    def crawled(self, key, body):
        return self.ended(key, self.started(key, body))

    def started(self, key, body):
        status, text = self.ask("POST", "/v1/crawls", key, body)
        expect(status < 300, f"a crawl of {body}: {status} {text}")
        return json.loads(text)["id"]

    def ended(self, key, crawl):
        found = {"state": "running"}
        while found["state"] != "ended":
            found = json.loads(self.ask("GET", f"/v1/crawls/{crawl}?wait=60", key)[1])
        return found


def is_active(machine, unit):
    return machine.unit("ActiveState", unit=unit)["ActiveState"] == "active"


def look_at(machine, kind, units):
    for path, user in HIDDEN[kind]:
        machine.do("ls", path)
        expect(machine.as_user(user, "cat", path)[0] != 0, f"{user} cannot read {path}")
    for unit in units:
        exposed = machine.ask("systemd-analyze", "security", "--no-pager", unit).splitlines()[-1]
        expect("OK" in exposed, exposed)
    failed = machine.ask("systemctl", "--failed", "--no-legend", "--plain").strip()
    expect(not failed, f"{machine.name}: {failed}")


def fenced(machine, user):
    code, said = machine.as_user(user, "curl", "-sS", "--max-time", "3", "-X", "PUT", "-H",
                                 "X-aws-ec2-metadata-token-ttl-seconds: 60",
                                 "http://169.254.169.254/latest/api/token")
    expect(code != 0, f"{machine.name}: {user} reaches the metadata service: {said}")
    said = machine.as_user(user, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                           "http://127.0.0.1:8471/credentials")
    expect(said[1] == "401", f"{machine.name}: credentials without the token: {said}")


def fenced_in(machine):
    """Checks that the service's user reaches only Postgres, the store, the resolver and the broker.
    """
    for place in OPEN + CLOSED:
        said = {user: machine.as_user(user, "python3", "-c", CONNECT, *map(str, place))[0] == 0
                for user in ("root", "everytab-api")}
        expect(said == {"root": True, "everytab-api": place in OPEN}, f"who reaches {place}: {said}")
    say(f"{machine.name}: the service's user reaches {len(OPEN)} places, and {len(CLOSED)} that others "
        "reach it does not")


def crawl_through_faults(service, key):
    """Crawls with a key while processes are stopped and killed. Each URL must be settled once."""
    rows = service.sql("select url from everytab.fetches where outcome = 'ok' order by url").splitlines()
    hosts = sorted({url.split("/")[2] for url in rows})[:4]
    urls = [f"https://{host}/{number}" for host in hosts for number in range(12)]
    crawl = service.started(key, {
        "urls": urls, "settings": {"scope": "page", "depth": 0, "delay_ms": 3000}})
    wait_for("its first fetches", lambda: service.sql(
        f"select known > pending and pending > 0 from coordinator.crawl_status('{crawl}')") == "t")
    stop_and_start(service.crawler, CRAWL, lambda: service.held() == 256)
    stop_and_start(service.api, API, lambda: ready(service))
    found = service.ended(key, crawl)
    settled = sum([found["captured"], found["failed"], *found["refused"].values(), *found["left"].values()])
    expect(found["known"] == settled == len(urls), f"a crawl through faults: {found}")
    say(f"a crawl of {len(urls)} URLs went on through this, and each is settled")
    indexed(service, found["name"])


def crawl_again(service, key):
    """Crawls home pages again that a key has crawled. Unchanged pages are read from their archives.
    """
    rows = service.sql("select url from everytab.fetches where outcome = 'ok' and depth = 0").splitlines()
    urls = sorted({"/".join(url.split("/")[:3]) + "/" for url in rows})[:6]
    settings = {"scope": "site", "depth": 1}
    first = service.crawled(key, {"urls": urls, "settings": settings})
    found = service.crawled(key, {"urls": urls, "settings": settings | {"again": first["id"]}})
    unchanged = int(service.sql(
        "select count(*) from everytab.fetches join everytab.crawls c using (crawl)"
        f" where c.id = '{found['id']}' and outcome = 'not_modified' and body_archive is not null"))
    expect(unchanged > 0, f"pages that have not changed: {found}")
    say(f"of {len(urls)} pages that a key has crawled, {unchanged} had not changed when it crawled again")
    indexed(service, found["name"])


def indexed(service, name):
    """Checks the indexes that an ended crawl has next to its archives. They are written with rights
    that do not allow reading its pages."""
    status = f"select indexes from coordinator.crawl_status(null) where name = '{name}'"
    wait_for(f"the indexes of {name}", lambda: service.sql(status) != "pending")
    expect(service.sql(status) == "written", f"the indexes of {name}: {service.sql(status)}")
    s3 = service.world.client("s3")
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=service.world.pages)
    keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
    for end in ("/crawl.json", "/indexes/cluster.idx", ".parquet"):
        expect(any(name in key and key.endswith(end) for key in keys), f"{name} has no {end}")
    crawls = json.loads(s3.get_object(Bucket=service.world.pages, Key="collinfo.json")["Body"].read())
    expect(name in str(crawls), f"{name} is in the list of crawls: {crawls}")
    say(f"the crawler wrote the indexes of {name}, and put it into the list of crawls")


def stop_and_start(machine, unit, works):
    """SIGTERM must stop the service cleanly and soon, and systemd must restart it after a kill."""
    began = time.monotonic()
    machine.do("systemctl", "stop", unit)
    took = time.monotonic() - began
    shown = machine.unit("Result", "ActiveState", unit=unit)
    expect(shown == {"Result": "success", "ActiveState": "inactive"} and took < STOPS_WITHIN,
           f"{unit} stopped after {took:.0f} s: {shown}")
    machine.do("systemctl", "start", unit)
    wait_for(f"{unit} to work again", works)
    pid = machine.unit("MainPID", unit=unit)["MainPID"]
    machine.do("systemctl", "kill", "--signal=KILL", "--kill-who=main", unit)
    wait_for(f"another process of {unit}", lambda: is_active(machine, unit)
             and machine.unit("MainPID", unit=unit)["MainPID"] not in ("0", pid))
    wait_for(f"{unit} to work after a kill", works)
    say(f"{machine.name}: {unit} stopped within {took:.1f} s, and was started again after kill -9")


def set_up(service):
    world, book = service.world, service.book
    seeds = sorted({"/".join(url.split("/")[:3]) + "/" for url in tabs(published(world))})[:12]
    service.hosts = [url.split("/")[2] for url in seeds]
    book.instead = {"https://www.example.com/": seeds[0]}
    book.more[START] = " --delay 250ms " + " ".join(seeds[1:])
    service.apply(SET_UP, 2)
    (instance,) = world.cloud.instances()
    crawler = service.crawler = world.add("crawler", instance)
    crawler.start_target()
    wait_for("a crawler that finds no schema", lambda: int(
        crawler.unit("NRestarts", unit=CRAWL)["NRestarts"]) > 0)
    console = service.console = book.console = world.add("crawl_console", "i-0123456789abcdef1")
    console.start_target()
    wait_for("the console's migration", lambda: is_active(console, "everytab-prepare.service"))
    wait_for("the crawler", lambda: service.sql("select count(*) from everytab.workers") == "1")
    say("a crawler waited for the schema, and the console of the crawl service migrated")
    book.perform(SET_UP, 3)
    wait_for("pages of the operator's crawl", lambda: service.sql(
        "select count(*) > 2 from everytab.fetches where outcome = 'ok'") == "t")
    expect(service.held() == 256, f"{service.held()} slots have a crawler")
    look_at(crawler, "crawler", ("everytab-crawl", "everytab-token@crawl", "everytab-broker"))
    look_at(console, "crawl_console", ("everytab-prepare", "everytab-crawl-counts"))
    fenced(crawler, "everytab-crawl")


def serve(service):
    """Starts the HTTP service under a name. Returns a key, and a URL that was captured."""
    service.apply(SET_UP, 4)
    api = service.api = service.world.add("api", "i-0123456789abcdef2")
    api.start_target()
    for unit in (API, "caddy.service"):
        wait_for(unit, lambda unit=unit: is_active(api, unit))
    wait_for("the service to be ready", lambda: ready(service))
    for path, status in (("/healthz", 200), ("/readyz", 200), ("/v1/settings", 401)):
        expect(service.ask("GET", path)[0] == status, f"{path} answers {service.ask('GET', path)}")
    listening = [line.split()[3] for line in api.do("ss", "-Hltn", "sport = :8088").splitlines()]
    expect(listening == ["127.0.0.1:8088"], f"the service listens on loopback alone: {listening}")
    look_at(api, "api", ("everytab-api", "everytab-token@api", "everytab-broker", "everytab-ready"))
    fenced(api, "everytab-api")
    fenced_in(api)
    add, listed, _ = keys(service)
    key = service.book.one(add, "console").split()[-1]
    service.book.one(listed, "console")
    url = service.sql("select min(url) from everytab.fetches where outcome = 'ok' and mime = 'text/html'")
    found = service.settled(key, url)
    expect(found["state"] == "captured", f"{url} was captured: {found}")
    status, page = service.ask("GET", f"/v1/crawled/html?url={url}&as=raw", key)
    expect(status == 200 and "<" in page, f"the page of {url}: {status} {page[:200]}")
    say(f"a key submitted {url} through the proxy, and read {len(page)} characters of its capture")
    return key, url


def ready(service):
    try:
        return service.ask("GET", "/readyz")[0] == 200
    except RuntimeError:
        return False


def keys(service):
    return [command for block in service.book.blocks for command in block["commands"]
            if block["heading"] == "Keys" and block["place"] == "console"]


def watch(service):
    for machine, unit in ((service.console, "everytab-crawl-counts"), (service.api, "everytab-ready")):
        machine.do("systemctl", "start", unit + ".service")
    for machine in (service.console, service.crawler, service.api):
        machine.do("systemctl", "start", "everytab-journal.service")
    service.book.perform(WATCH)
    metrics = {one["MetricName"] for one in service.world.client("cloudwatch").list_metrics(
        Namespace="EveryTab")["Metrics"]}
    expect(metrics >= COUNTS, f"metrics: {sorted(metrics)}")
    streams = {one["logStreamName"] for one in service.world.client("logs").describe_log_streams(
        logGroupName=LOGS)["logStreams"]}
    expect(streams >= {one.name for one in (service.console, service.crawler, service.api)}, streams)


def archives_of(service, url):
    """Returns the archives that contain captures of a URL, according to all ended crawls' indexes.
    """
    for name in service.sql("select name from everytab.crawls where state = 'ended'").splitlines():
        indexed(service, name)
    objects = service.sql(
        "select distinct a.object from everytab.fetches f join everytab.crawl_archives a"
        f" on a.crawl = f.crawl and a.archive = f.archive where f.url = '{url}'").splitlines()
    s3 = service.world.client("s3")
    return {key: s3.get_object(Bucket=service.world.pages, Key=key)["Body"].read() for key in objects}


def is_forgotten(service, key, url, before):
    """Checks that a URL's captures are no longer served, and that the archives contain other bytes
    in their place."""
    status, _ = service.ask("GET", f"/v1/crawled/html?url={url}&as=raw", key)
    expect(status == 404, f"the forgotten capture of {url} is answered {status}")
    after = archives_of(service, url)
    expect(before and after.keys() == before.keys(), f"archives of {url}: {sorted(before)}, {sorted(after)}")
    for name, was in before.items():
        expect(len(after[name]) == len(was) and after[name] != was, f"{name} has no blank record")
    say(f"{url} was forgotten: {len(after)} archives have a blank record, and indexes are written again")


def operate(service, key, url):
    book = service.book
    book.perform("Scheduled crawls, and stricter robots.txt rules", by_hand=True)
    service.apply("More and fewer crawlers")
    host = next(name for name in service.hosts if name not in url)
    book.instead |= {"https://www.their.site/a-page": url, "www.their.site": host, "their.site": host,
                     "5764937f": service.sql(
                         "select min(id::text) from everytab.crawls where state = 'running'")}
    book.perform("Why URLs of a crawl failed", by_hand=True)
    before = archives_of(service, url)
    book.perform("When a site complains of a crawl")
    is_forgotten(service, key, url, before)
    # Crawlers get the change within ten seconds.
    wait_for("a site that complained to be left alone", lambda: service.settled(
        key, f"https://{host}/{time.monotonic_ns()}")["state"] == "refused")
    book.instead["abcdefghijkl"] = key.split("_")[1]
    book.one(keys(service)[2], "console")
    status, _ = service.ask("GET", "/v1/settings", key)
    expect(status == 401, f"a revoked key is answered {status}")
    say(f"{host} complained and is refused, and so is the key that was revoked")


def change_image(service, arguments):
    """Changes the image as docs/crawl.md says, with a console that has another program."""
    world = service.world
    service.apply(CHANGE, 1)
    service.crawler.leave_the_group()
    wait_for("the crawler to leave", lambda: service.crawler.unit(
        "ActiveState", unit=CRAWL)["ActiveState"] == "inactive")
    shown = service.crawler.unit("ExecMainStatus", "Result", unit=CRAWL)
    expect(shown == {"ExecMainStatus": "4", "Result": "success"}, f"it drained: {shown}")
    expect(service.held() == 0, f"{service.held()} slots have a crawler that is gone")
    for machine in (service.crawler, service.api):
        machine.power_off()
    before = service.sql(SCHEMA)
    service.apply(CHANGE, 2)
    service.console.power_off()
    # The same condition as in prepare-crawls.
    wait_for("the crawler to be gone", lambda: service.sql(
        "select count(*) from everytab.workers where seen_at > now() - interval '15 seconds'") == "0")
    console = service.console = service.book.console = world.add(
        "crawl_console", "i-0123456789abcdef3", another_image(world, arguments))
    console.start_target()
    wait_for("the new console's migration", lambda: is_active(console, "everytab-prepare.service"))
    expect(service.sql(SCHEMA) != before, "the new console migrated")
    say("the crawler drained when its group took it away, and a console of another image migrated")


def run_through(world, book, arguments):
    service = Service(world, book)
    set_up(service)
    key, url = serve(service)
    watch(service)
    crawl_through_faults(service, key)
    crawl_again(service, key)
    operate(service, key, url)
    change_image(service, arguments)
    service.apply("Tearing a crawl service down")
    service.console.power_off()
    there = {one["Name"] for one in world.client("s3").list_buckets()["Buckets"]}
    expect(world.pages not in there, f"the bucket of captures went: {sorted(there)}")
    say("the teardown of the crawl service left the site and the kept bucket")
