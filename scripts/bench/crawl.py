"""Measures live crawls of a graph of sites, and compares Scrapy, GNU wget, Crawlee and spider.

scripts/bench/crawl.sh calls this. Prints one line of JSON per measurement. Pages are counted in the
servers' access log.
"""

import concurrent.futures
import json
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

PROGRAMS = pathlib.Path(os.environ["BENCH_PROGRAMS"])
FOLDER = pathlib.Path(os.environ["BENCH_FOLDER"])
WORKER = PROGRAMS / "everytab-worker"
TESTBED = PROGRAMS / "everytab-testbed"
SERVER_URL = os.environ["EVERYTAB_TEST_DATABASE_URL"]
TICK = 1 / os.sysconf("SC_CLK_TCK")


def setting(name, otherwise):
    return int(os.environ.get(name, otherwise))


def say(**figures):
    print(json.dumps(figures), flush=True)


def processor_seconds(pid, reaped=False):
    """Returns a process's CPU seconds, with `reaped` including children that it has waited for."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    fields = fields.rpartition(")")[2].split()
    return sum(int(field) for field in fields[11 : 15 if reaped else 13]) * TICK


def most_memory(pid):
    """Returns a process's maximum memory so far, in MiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024)
    return None


class Internet:
    def __init__(self, *options, hosts, pages):
        self.hosts, self.pages = hosts, pages
        self.options = ["--graph", "--hosts", str(hosts), "--pages", str(pages), *options]
        self.log = FOLDER / "access.log"
        self.process = None
        self.address = {}
        self.begun = 0.0

    def expected(self, scope="any"):
        """Returns the outcomes that a crawl must record, by URL."""
        command = [TESTBED, *self.options, "--expect", scope]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return dict(line.split("\t")[:2] for line in lines.splitlines())

    def __enter__(self):
        shutil.rmtree(FOLDER / "scratch", ignore_errors=True)
        command = [TESTBED, *self.options, "--standard-ports", "--access-log", self.log]
        self.process = subprocess.Popen(
            [*command, "--scratch", FOLDER / "scratch"], stdout=subprocess.PIPE, text=True
        )
        self.address = json.loads(self.process.stdout.readline())
        self.begun = time.monotonic()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def requests(self):
        """Returns the requests so far, without those for robots.txt: microseconds, status, host,
        path."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            for line in file:
                fields = line.rstrip("\n").split("\t")
                if len(fields) == 6 and fields[5] != "/robots.txt":
                    yield int(fields[0]), int(fields[1]), int(fields[2]), fields[4], fields[5]


class Database:
    def __init__(self, name):
        self.name = name
        self.psql("postgres", f"create database {name}")
        self.url = SERVER_URL.replace("/postgres?", f"/{name}?")
        self.run("migrate")
        data = self.psql("postgres", "show data_directory")
        pid = pathlib.Path(data, "postmaster.pid").read_text(encoding="utf-8").split()[0]
        self.postmaster = int(pid)

    @staticmethod
    def psql(database, sql):
        url = SERVER_URL.replace("/postgres?", f"/{database}?")
        command = ["psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def number(self, sql):
        return float(self.psql(self.name, sql) or 0)

    def lines(self, sql):
        return self.psql(self.name, sql).splitlines()

    def run(self, *arguments):
        environment = {**os.environ, "DATABASE_URL": self.url}
        command = [WORKER, *map(str, arguments)]
        ended = subprocess.run(
            command, check=False, capture_output=True, text=True, env=environment
        )
        if ended.returncode:
            sys.exit(f"{command[1:3]}: {ended.stderr}")
        return ended.stdout

    def start(self, seeds, *options):
        store = FOLDER / "store"
        said = self.run("crawl", "start", "--seeds", seeds, "--to", store, *options)
        return said.split()[0]

    def state(self, crawl):
        return json.loads(self.run("crawl", "status", crawl, "--json"))

    def processor(self):
        children = pathlib.Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children")
        total = processor_seconds(self.postmaster, reaped=True)
        for child in children.read_text(encoding="utf-8").split():
            try:
                total += processor_seconds(int(child))
            except (FileNotFoundError, ProcessLookupError):
                pass
        return total


class Workers:
    def __init__(self, internet, database, own, count=1):
        address = internet.address
        command = [WORKER, "run", "--role", "crawl"]
        command += ["--own", ",".join(own)] if own else []
        command += ["--user-agent", "everytab-bench/1.0 (+https://bot.test)", "--internet", "small"]
        command += ["--dns", address["dns"], "--ca-file", address["ca_file"]]
        for allowed in address["allow_ranges"]:
            command += ["--allow-range", allowed]
        command += ["--in-flight", os.environ.get("IN_FLIGHT", "256")]
        url = database.url.replace("user=postgres", "user=everytab_worker")
        url = url.replace("postgres://postgres@", "postgres://everytab_worker@")
        environment = {**os.environ, "DATABASE_URL": url, "EVERYTAB_LOG": "warn"}
        self.processes = []
        for number in range(count):
            temporary = FOLDER / f"temporary-{number}"
            temporary.mkdir(exist_ok=True)
            with open(FOLDER / f"worker-{number}.log", "w", encoding="utf-8") as log:
                self.processes.append(
                    subprocess.Popen(
                        [*command, "--temporary", temporary], stderr=log, env=environment
                    )
                )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()

    def processor(self):
        return sum(processor_seconds(process.pid) for process in self.processes)

    def memory(self):
        return max(most_memory(process.pid) for process in self.processes)


def seeds_of(urls):
    """Writes the home pages among URLs to a file. Returns the file and the hosts."""
    homes = [url for url in urls if url.count("/") == 3 and url.endswith("/")]
    path = FOLDER / "seeds.txt"
    path.write_text("\n".join(homes) + "\n", encoding="utf-8")
    return path, [url.split("/")[2] for url in homes]


def by_key(rows, known):
    """Returns a line per (URL, outcome) with the URL's normalized key. URLs in `known` are keys."""
    others = [url for url, _ in rows if url not in known]
    keys = {}
    for start in range(0, len(others), 500):
        part = others[start:start + 500]
        command = [WORKER, "inspect", "normalize", "--json", *part]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        keys.update(zip(part, (json.loads(line)["key"] for line in lines.splitlines())))
    return [f"{keys.get(url, url)}\t{outcome}" for url, outcome in rows]


def captured(internet):
    """Returns the number of distinct successful pages, and the seconds from the first to the
    last."""
    pages, first, last = set(), None, 0
    for start, end, status, host, path in internet.requests():
        first = start if first is None else min(first, start)
        last = max(last, end)
        if status == 200:
            pages.add((host, path))
    return len(pages), (last - (first or 0)) / 1e6


def whole_crawl(internet, expected, name, workers=1, scope="any"):
    """Runs a crawl to its end, without delay. Fails unless it records the outcomes that the
    graph's oracle expects."""
    seeds, own = seeds_of(expected)
    with internet:
        database = Database(name)
        options = ["--scope", scope, "--depth", 1000, "--site-pages", 1_000_000, "--delay", "0s"]
        crawl = database.start(seeds, *options)
        log_before = database.number("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
        server, begun = database.processor(), time.monotonic()
        with Workers(internet, database, own, workers) as fleet:
            while (state := database.state(crawl))["state"] != "ended":
                if time.monotonic() - begun > setting("LIMIT_SECONDS", 3600):
                    sys.exit(f"not ended: {state}")
                time.sleep(1)
            elapsed = time.monotonic() - begun
            used, memory = fleet.processor(), fleet.memory()
        server = database.processor() - server
        sql = "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
        wal = database.number(sql) - log_before
        recorded = database.lines("select url || chr(9) || outcome from everytab.fetches")
        rows, recorded = len(recorded), by_key([line.split("\t") for line in recorded], expected)
        wanted = [f"{url}\t{outcome}" for url, outcome in expected.items()]
        if sorted(recorded) != sorted(wanted):
            lost, more = set(wanted) - set(recorded), set(recorded) - set(wanted)
            sys.exit(f"{rows} rows; lost {len(lost)}: {sorted(lost)[:3]}; "
                     f"not expected {len(more)}: {sorted(more)[:3]}")
        pages, span = captured(internet)
        size = database.number("select sum(pg_total_relation_size(c.oid)) from pg_class c "
                               "where c.relname ~ '^fetches' and c.relkind = 'r'")
    return {
        "workers": workers, "pages": pages, "seconds": round(elapsed, 1),
        "asking_seconds": round(span, 1), "pages_per_s": round(pages / span),
        "worker_cpu_s": round(used, 1), "postgres_cpu_s": round(server, 1),
        "pages_per_cpu_s": round(pages / (used + server)), "worker_mib": memory,
        "wal_bytes_a_page": round(wal / pages), "fetch_row_bytes": round(size / rows),
    }


def peer(internet, command):
    """Runs another program for a while, to measure pages per CPU second."""
    with internet:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=FOLDER / "peer")
        try:
            process.wait(setting("PEER_SECONDS", 60) + 30)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # The servers write the log when they end.
    pages, span = captured(internet)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, pages, span


def throughput():
    """Measures pages per CPU second, with records and rows, and compares other programs."""
    internet = Internet(
        "--plain", "--http-only", "--page-bytes", "30000", "--links", "40",
        hosts=setting("HOSTS", 200), pages=setting("PAGES", 40_000),
    )
    expected = internet.expected()
    for turn in range(setting("REPEATS", 3)):
        ours = whole_crawl(internet, expected, f"throughput_{turn}")
        say(what="throughput", program="everytab", **ours)
        seeds, hosts = seeds_of(expected)
        seconds = str(setting("PEER_SECONDS", 60))
        commands = {}
        if os.environ.get("PEERS") != "none":
            commands["wget"] = ["timeout", seconds, "wget", "--quiet", "--recursive", "--level=inf",
                                "--span-hosts", "--delete-after", "--warc-file=wget",
                                "--warc-tempdir=.", "--input-file", seeds]
        if os.environ.get("BENCH_SCRAPY"):
            script = pathlib.Path(__file__).with_name("crawl_scrapy.py")
            commands["scrapy"] = [os.environ["BENCH_SCRAPY"], script, seeds, seconds,
                                  str(len(hosts))]
        if os.environ.get("BENCH_CRAWLEE"):
            script = pathlib.Path(os.environ["BENCH_CRAWLEE"], "crawl_crawlee.mjs")
            commands["crawlee"] = ["node", script, seeds, seconds, str(len(hosts))]
        if os.environ.get("BENCH_SPIDER"):
            commands["spider"] = [os.environ["BENCH_SPIDER"], seeds, seconds, str(len(hosts)),
                                  "0"]
        for name, command in commands.items():
            shutil.rmtree(FOLDER / "peer", ignore_errors=True)
            (FOLDER / "peer").mkdir()
            used, pages, span = whole = peer(internet, command)
            if not pages:
                sys.exit(f"{name} sent no request: {whole}")
            say(what="throughput", program=name, pages=pages, pages_per_s=round(pages / span),
                cpu_s=round(used, 1), pages_per_cpu_s=round(pages / used),
                ratio=round(ours["pages_per_cpu_s"] / (pages / used), 2))


def fleet():
    """Crawls many hosts with 1, 2 and 4 workers. The results must equal the oracle's."""
    internet = Internet(hosts=setting("HOSTS", 2_000), pages=setting("PAGES", 200_000))
    for scope in os.environ.get("SCOPES", "any").split():
        expected = internet.expected(scope)
        for workers in map(int, os.environ.get("WORKERS", "1 2 4").split()):
            name = f"fleet_{scope}_{workers}"
            say(what="fleet", scope=scope, **whole_crawl(internet, expected, name, workers, scope))


def known():
    """Measures a worker's memory while a limited crawl finds millions of URLs."""
    internet = Internet(
        "--plain", "--http-only", "--links", "400", "--page-bytes", "60000",
        hosts=setting("HOSTS", 1_000), pages=setting("PAGES", 10_000_000),
    )
    pages = setting("LIMIT", 40_000)
    # A small internet has the same hosts, because their names do not depend on its pages.
    few = Internet(*internet.options[5:], hosts=internet.hosts, pages=4 * internet.hosts)
    seeds, names = seeds_of(few.expected())
    with internet:
        database = Database("known")
        crawl = database.start(seeds, "--scope", "any", "--depth", 1000, "--delay", "0s",
                               "--site-pages", 1_000_000, "--limit", pages)
        with Workers(internet, database, names, setting("WORKERS", 1)) as fleet:
            begun, seen = time.monotonic(), 0
            while (state := database.state(crawl))["state"] != "ended":
                if state["known"] >= seen + 500_000:
                    seen = state["known"]
                    say(what="known", known=seen, pages=state["captured"],
                        worker_mib=fleet.memory())
                if time.monotonic() - begun > setting("LIMIT_SECONDS", 3600):
                    sys.exit(f"not ended: {state}")
                time.sleep(2)
            memory, used = fleet.memory(), fleet.processor()
    rows = database.number("select count(*) from everytab.fetches where status = 200")
    size = database.number("select sum(length(data)) from everytab.frontier_chunks")
    say(what="known", ended_by=state["ended_by"], limit=pages, pages=round(rows),
        known=state["known"], worker_mib=memory, worker_cpu_s=round(used, 1),
        chunk_bytes_a_known_url=round(size / state["known"], 1))


def urgent():
    """Measures single URLs that are submitted while a large crawl saturates the workers."""
    internet = Internet("--plain", "--http-only", hosts=setting("HOSTS", 400),
                        pages=setting("PAGES", 300_000))
    expected = internet.expected()
    seeds, hosts = seeds_of(expected)
    by_host = {host: [] for host in hosts}
    for url in expected:
        by_host[url.split("/")[2]].append(url)
    sites = {".".join(host.split(".")[-2:]) for host in hosts[-40:]}
    alone = [host for host in hosts if ".".join(host.split(".")[-2:]) in sites]
    busy = [f"http://{host}/" for host in hosts if host not in alone]
    seeds.write_text("\n".join(busy) + "\n", encoding="utf-8")
    single = FOLDER / "single.txt"
    # All URLs of one host keep the standing crawl open. One URL of each other host makes the
    # crawler fetch the host's robots.txt before the measurement.
    open_host = max(alone, key=lambda host: len(by_host[host]))
    alone = [host for host in alone if host != open_host and len(by_host[host]) > 2]
    first = [by_host[host][0] for host in alone] + by_host[open_host]
    single.write_text("\n".join(first) + "\n", encoding="utf-8")
    with internet:
        database = Database("urgent")
        database.start(seeds, "--scope", "list", "--depth", 1000, "--delay", "0s",
                       "--site-pages", 1_000_000)
        standing = database.start(single, "--scope", "page", "--delay", "3s")
        took = []
        with Workers(internet, database, hosts, 2):
            time.sleep(setting("WARM_SECONDS", 40))
            for turn in range(setting("SINGLES", 60)):
                urls = by_host[alone[turn % len(alone)]]
                url = urls[1 + turn // len(alone)]
                begun = time.monotonic()
                database.run("crawl", "add", standing, "--urgent", url)
                sql = f"select count(*) from everytab.fetches where url = '{url}'"
                while not database.number(sql):
                    if time.monotonic() - begun > 60:
                        sys.exit(f"not recorded: {url}")
                    time.sleep(0.1)
                took.append(time.monotonic() - begun)
                time.sleep(1)
            if database.number("select count(*) from everytab.crawls where state = 'ended'"):
                sys.exit("the large crawl ended before the last single URL: PAGES is too small")
            pending = database.number("select sum(pending) from everytab.crawl_slots")
    took.sort()
    say(what="urgent", singles=len(took), median_s=round(statistics.median(took), 2),
        p99_s=round(took[int(len(took) * 0.99)], 2), pending_of_the_large_crawl=pending)


def crawl_delay(host):
    """Returns the Crawl-delay in a host's robots.txt in seconds, or None if the host is dead."""
    try:
        with urllib.request.urlopen(f"http://{host}/robots.txt", timeout=20) as answer:
            lines = answer.read().decode().splitlines()
    except urllib.error.HTTPError:
        return 0.0
    except OSError:
        return None
    said = [line.partition(":")[2] for line in lines if line.startswith("Crawl-delay:")]
    return float(said[0]) if said else 0.0


def polite():
    """Measures which share of the requests that the hosts' delays allow is sent."""
    factor, least, most = 2, 1.0, 60.0
    internet = Internet(
        "--plain", "--http-only", "--spread", "equal", "--page-bytes", "30000", "--links", "40",
        "--slow", "1000", "--slow-ms", "20-5000", "--dead", "50", "--crawl-delay", "100",
        "--crawl-delay-ms", "5000-60000",
        hosts=setting("HOSTS", 600), pages=setting("PAGES", 120_000),
    )
    warm, window = setting("WARM_SECONDS", 90), setting("WINDOW_SECONDS", 180)
    seeds, hosts = seeds_of(internet.expected())
    for workers in map(int, os.environ.get("WORKERS", "1 2 4").split()):
        with internet:
            with concurrent.futures.ThreadPoolExecutor(64) as pool:
                delays = dict(zip(hosts, pool.map(crawl_delay, hosts)))
            database = Database(f"polite_{workers}")
            database.start(seeds, "--scope", "any", "--depth", 1000, "--site-pages", 1_000_000)
            with Workers(internet, database, [], workers) as fleet:
                time.sleep(warm + window)
                until = (time.monotonic() - internet.begun) * 1e6
                used, memory = fleet.processor(), fleet.memory()
        took = {host: [] for host, delay in delays.items() if delay is not None}
        for start, end, _, host, _ in internet.requests():
            if until - window * 1e6 <= start < until:
                took[host].append((end - start) / 1e6)
        allowed, asked = 0.0, sum(map(len, took.values()))
        for host, times in took.items():
            mean = statistics.fmean(times) if times else 0.0
            allowed += window / (mean + max(least, delays[host], min(most, factor * mean)))
        say(what="polite", workers=workers, hosts=len(took), dead=len(hosts) - len(took),
            window_s=window, pages_per_s=round(asked / window, 1),
            allowed_per_s=round(allowed / window, 1), share=round(asked / allowed, 3),
            never_asked=sum(not times for times in took.values()),
            worker_cpu_s=round(used, 1), worker_mib=memory)


if __name__ == "__main__":
    MODES = {"throughput": throughput, "polite": polite, "fleet": fleet, "known": known,
             "urgent": urgent}
    MODES[sys.argv[1]]()
