"""Polite crawls of a small internet by EveryTab, GNU wget, Scrapy, Crawlee and spider.

scripts/bench/crawl.sh calls this. Each program crawls the same sites from the same seeds twice:
once to the end, and once with a SIGKILL when half of the pages have been fetched, after which it is
started again as its documentation says. Prints one line of JSON per crawl, and then the tables for
docs/benchmarks.md.
"""

import concurrent.futures
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time

from crawl import FOLDER, Database, Internet, Workers, crawl_delay, say, setting
from crawl_judge import World, accesses, archived, haste, listed

HERE = pathlib.Path(__file__).parent
KEPT = FOLDER / "peer"
USER_AGENT = "everytab-bench/1.0 (+https://bot.test)"
WARCIO = pathlib.Path(os.environ["BENCH_SCRAPY"]).with_name("warcio")
DELAY_MS = setting("DELAY_MS", 250)
# A crawler is stopped after this many seconds without a response, because a dead host may be
# retried for a day. The limit is longer than 60 s, after which our crawler retries a page with
# status 503.
QUIET_SECONDS = setting("QUIET_SECONDS", 70)


class Peer:
    """A program that crawls in its own process group."""

    def __init__(self, name, command, kept, **environment):
        self.name, self.command, self.kept = name, command, kept
        self.environment = {**os.environ, **environment}
        self.process = None

    def start(self, turn):
        """Starts the program, or starts it again if turn is 2."""
        log_name, mode = FOLDER / f"peer-{self.name}.log", "a" if turn == 2 else "w"
        with open(log_name, mode, encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [str(word) for word in self.command(turn)], cwd=KEPT, stdout=log, stderr=log,
                start_new_session=True, env=self.environment,
            )

    def has_ended(self):
        return self.process.poll() is not None

    def end(self, number):
        try:
            os.killpg(self.process.pid, number)
            self.process.wait(30)
        except ProcessLookupError:
            self.process.wait()
        except subprocess.TimeoutExpired:
            self.end(signal.SIGKILL)


class Ours:
    """A crawl by one worker."""

    name = "everytab"

    def __init__(self, world, number):
        self.world, self.number = world, number
        self.database = self.crawl = self.workers = None

    def start(self, turn):
        if turn == 1:
            self.database = Database(f"peers_{self.number}")
            self.crawl = self.database.start(
                FOLDER / "seeds.txt", "--scope", "list", "--depth", 1000,
                "--site-pages", 1_000_000, "--delay", f"{DELAY_MS}ms",
            )
        self.workers = Workers(INTERNET, self.database, self.world.hosts)

    def has_ended(self):
        return self.database.state(self.crawl)["state"] == "ended"

    def end(self, number):
        for process in self.workers.processes:
            process.send_signal(number)
            process.wait()

    def kept(self):
        rows = set(self.database.lines("select url from everytab.fetches where outcome = 'ok'"))
        urls, broken = archived(WARCIO, sorted((FOLDER / "store").rglob("*.warc.gz")))
        return [url for url in urls if url in rows], broken


def peers(world):
    """Returns the installed peers, each as the shortest program in its documentation."""
    seeds, sites, hosts = (FOLDER / f"{name}.txt" for name in ("seeds", "sites", "hosts"))
    seeds.write_text("\n".join(world.seeds) + "\n", encoding="utf-8")
    sites.write_text("\n".join(world.sites) + "\n", encoding="utf-8")
    hosts.write_text("\n".join(world.hosts) + "\n", encoding="utf-8")
    delay = DELAY_MS / 1e3

    def wget(turn):
        # One process per host, because wget waits between any two requests, even to different
        # hosts. It cannot resume and also write WARC files, so it starts again and keeps the
        # old archives.
        return ["xargs", "--arg-file", hosts, "--max-procs", len(world.hosts), "-I{}",
                "wget", "--no-verbose", "--recursive", "--level=inf", f"--wait={delay}",
                "--tries=2", "--timeout=10", "--retry-on-http-error=503",
                f"--user-agent={USER_AGENT}", f"--warc-file=archive-{turn}-{{}}",
                "--warc-tempdir=.", "http://{}/"]

    found = [Peer("wget", wget, lambda: archived(WARCIO, sorted(KEPT.glob("*.warc.gz"))))]
    scrapy = [os.environ["BENCH_SCRAPY"], HERE / "crawl_polite_scrapy.py", seeds, sites, KEPT]
    found.append(Peer("scrapy", lambda _: [*scrapy, delay], lambda: listed(pages_of_scrapy())))
    if os.environ.get("BENCH_CRAWLEE"):
        script = pathlib.Path(os.environ["BENCH_CRAWLEE"], "crawl_polite_crawlee.mjs")
        found.append(
            Peer("crawlee", lambda _: ["node", script, seeds, sites, delay],
                 lambda: listed(pages_of_crawlee()),
                 CRAWLEE_STORAGE_DIR=str(KEPT / "storage"), CRAWLEE_PURGE_ON_START="false")
        )
    if os.environ.get("BENCH_SPIDER"):
        # spider uses one delay for all hosts, and cannot resume.
        spider = [os.environ["BENCH_SPIDER"], seeds, setting("LIMIT_SECONDS", 1800),
                  len(world.hosts), DELAY_MS]
        found.append(Peer("spider", lambda turn: [*spider, f"archive-{turn}-"],
                          lambda: archived(WARCIO, sorted(KEPT.glob("*.warc")))))
    return found


def pages_of_scrapy():
    feed = KEPT / "pages.jsonl"
    return feed.read_text(encoding="utf-8").splitlines() if feed.exists() else []


def pages_of_crawlee():
    for file in sorted((KEPT / "storage" / "datasets" / "default").glob("*.json")):
        yield file.read_text(encoding="utf-8", errors="replace")


def loopback_bytes():
    for line in pathlib.Path("/proc/net/dev").read_text(encoding="utf-8").splitlines():
        if line.strip().startswith("lo:"):
            return int(line.partition(":")[2].split()[0])
    return 0


def segments_with_data():
    """Returns the TCP segments that contained data. Dead hosts are sent none."""
    lines = pathlib.Path("/proc/net/netstat").read_text(encoding="utf-8").splitlines()
    names, values = (line.split() for line in lines if line.startswith("TcpExt:"))
    return int(values[names.index("TCPOrigDataSent")])


class Progress:
    """Counts the successful pages, and notes when data were last sent."""

    def __init__(self):
        self.read, self.pages = 0, set()
        self.segments, self.since = 0, time.monotonic()

    def look(self):
        """Reads the access log's new lines. The log is slightly late."""
        if (segments := segments_with_data()) > self.segments:
            self.segments, self.since = segments, time.monotonic()
        with open(INTERNET.log, "rb") as file:
            file.seek(self.read)
            lines = file.read().rpartition(b"\n")[0]
        self.read += len(lines) + 1 if lines else 0
        for fields in (line.split(b"\t") for line in lines.split(b"\n") if line):
            if fields[2] == b"200" and fields[5] != b"/robots.txt":
                self.pages.add((fields[4], fields[5]))


def wait(program, pages=None):
    """Waits until a crawl has ended, has this many pages, or makes no progress. Returns which."""
    progress, limit = Progress(), time.monotonic() + setting("LIMIT_SECONDS", 1800)
    while time.monotonic() < limit:
        progress.look()
        if pages and len(progress.pages) >= pages:
            return "reached"
        if program.has_ended():
            return "ended"
        if time.monotonic() - progress.since > QUIET_SECONDS:
            return "quiet"
        time.sleep(1)
    return "limit"


def crawl(world, program, is_killed):
    """Runs one crawl. Returns its results."""
    for folder in (KEPT, FOLDER / "store"):
        shutil.rmtree(folder, ignore_errors=True)
    KEPT.mkdir()
    killed = None
    with INTERNET:
        carried = loopback_bytes()
        program.start(1)
        if is_killed:
            killed = wait(program, len(world.pages) // 2)
            program.end(signal.SIGKILL)
            program.start(2)
        ended = wait(program)
        program.end(signal.SIGTERM)
        carried = loopback_bytes() - carried
    lines = list(accesses(INTERNET))
    if not lines:
        sys.exit(f"{program.name} sent no request; see {FOLDER}/peer-{program.name}.log")
    first, last = min(line[0] for line in lines), max(line[1] for line in lines)
    kept, broken = program.kept()
    usual = {host: DELAY_MS * 1e3 for host in world.hosts if host not in world.longer}
    longer = {host: delay * 1e6 for host, delay in world.longer.items()}
    return {
        "program": program.name, "killed": killed, "ended": ended,
        "seconds": round((last - first) / 1e6, 1), "mb": round(carried / 1e6, 1),
        **world.found(lines), **world.kept(kept), "broken": broken, **haste(lines, usual),
        **{f"longer_{name}": count for name, count in haste(lines, longer).items()},
    }


def median(rows):
    def middle(values):
        is_figure = all(isinstance(value, (int, float)) for value in values)
        return statistics.median(values) if is_figure else values[0]
    return {name: middle([row[name] for row in rows]) for name in rows[0]}


def table(title, columns, rows):
    print(f"\n{title}\n")
    print("| program | " + " | ".join(columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    for row in rows:
        cells = (figure(row) for figure in columns.values())
        cells = (f"{cell:,}" if isinstance(cell, (int, float)) else cell for cell in cells)
        print(f"| {row['program']} | " + " | ".join(cells) + " |")
    sys.stdout.flush()


def tables(whole, killed):
    def column(name):
        return lambda row: row[name]

    def share(name, of):
        return lambda row: f"{row[name]:,} of {row[of]:,}"

    table("Whole crawls: what was found", {
        "found": share("found", "must"), "disallowed by robots.txt": column("disallowed"),
        "behind nofollow": column("nofollow"), "out of scope": column("outside"),
        "requests": column("requests"), "for a page again": column("again"),
        "MB": column("mb"), "seconds": column("seconds"),
    }, whole)
    table("Whole crawls: what was asked for too early", {
        "too soon": share("soon", "pairs"), "too soon after the end": column("within"),
        "at the same time": column("at_once"),
        "Crawl-delay: too soon": share("longer_soon", "longer_pairs"),
        "Crawl-delay: after the end": column("longer_within"),
        "Crawl-delay: at the same time": column("longer_at_once"),
    }, whole)
    table("After a kill", {
        "pages kept": share("kept", "pages"), "requests": column("requests"),
        "for a page again": column("again"), "kept twice": column("kept_twice"),
        "broken files": column("broken"), "too soon": column("soon"),
        "at the same time": column("at_once"), "Crawl-delay: too soon": column("longer_soon"),
        "seconds": column("seconds"),
    }, killed)


def main():
    """Crawls with each program alternately, to the end and with a kill, REPEATS times."""
    world = World(INTERNET.expected("list"))
    with INTERNET, concurrent.futures.ThreadPoolExecutor(64) as pool:
        delays = dict(zip(world.hosts, pool.map(crawl_delay, world.hosts)))
    world.longer = {host: delay for host, delay in delays.items() if delay}
    say(what="peers", hosts=len(world.hosts), pages=len(world.pages), must=len(world.must),
        delay_ms=DELAY_MS, crawl_delay_hosts=len(world.longer),
        dead_hosts=sum(delay is None for delay in delays.values()))
    rows, number, others = {}, 0, peers(world)
    wanted = os.environ.get("PROGRAMS", "everytab wget scrapy crawlee spider").split()
    for _ in range(setting("REPEATS", 1)):
        for case in os.environ.get("CASES", "whole killed").split():
            number += 1
            for program in [Ours(world, number), *others]:
                if program.name not in wanted:
                    continue
                row = crawl(world, program, case == "killed")
                say(what="peers", **row)
                rows.setdefault((case, program.name), []).append(row)
    medians = {key: median(runs) for key, runs in rows.items()}
    tables(*([row for (case, _), row in medians.items() if case == kind]
             for kind in ("whole", "killed")))


# With this seed, one host in scope has no DNS name, and another one drops packets.
INTERNET = Internet(
    "--seed", "5", "--http-only", "--spread", "equal", "--links", "20", "--page-bytes", "10000",
    "--dead", "100", "--crawl-delay", "300", "--crawl-delay-ms", "500-600",
    hosts=setting("HOSTS", 30), pages=setting("PAGES", 3_000),
)

if __name__ == "__main__":
    main()
