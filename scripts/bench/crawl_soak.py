"""Crawls for a long time on an internet that changes and fails. No resource may grow, and no
request may be early.

scripts/bench/crawl.sh calls this, as mode soak. A large crawl runs next to one that is repeated as
soon as it has ended. Prints a line per minute with the resources that workers and Postgres use.
"""

import pathlib
import signal
import statistics
import subprocess
import sys
import time

from crawl import FOLDER, Database, Internet, Workers, say, seeds_of, setting

DELAY_MS = 500
# Seconds after a fault in which servers may still receive earlier requests, because TCP
# retransmits packets after longer and longer pauses.
THAW_S = 8
# Maximum ratio between the values in the last and in the second third of the run.
GROWTH = 1.15
# Growth is checked only in runs of at least this many minutes, because in shorter ones the
# number of open sockets varies too much.
LONG_ENOUGH = 30
LOOK_S = setting("LOOK_SECONDS", 60)


class Weather:
    """Changes and breaks the internet, in one way at a time."""

    def __init__(self, internet):
        self.internet = internet
        self.kinds = [self.change, self.freeze, self.drop, self.refuse]
        self.happened = {kind.__name__: 0 for kind in self.kinds}
        # Time spans in microseconds in which servers were unreachable. Servers receive requests
        # from these spans late, although the client gave them up, and log their end after the
        # client has left.
        self.unreachable = []
        self.nft("add table inet soak")
        self.nft("add chain inet soak output { type filter hook output priority 0 ; }")

    @staticmethod
    def nft(command):
        subprocess.run(["nft", command], check=True)

    def next(self, seconds):
        kind = self.kinds[sum(self.happened.values()) % len(self.kinds)]
        self.happened[kind.__name__] += 1
        began = time.monotonic()
        kind(seconds)
        span = (began, time.monotonic() + THAW_S)
        if kind != self.change:
            self.unreachable.append([(at - self.internet.begun) * 1e6 for at in span])

    def change(self, _):
        self.internet.process.send_signal(signal.SIGUSR1)

    def freeze(self, seconds):
        self.internet.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.internet.process.send_signal(signal.SIGCONT)

    def drop(self, seconds):
        self.against_servers("drop", seconds)

    def refuse(self, seconds):
        self.against_servers("reject with tcp reset", seconds)

    def against_servers(self, verdict, seconds):
        self.nft(f"add rule inet soak output tcp dport {{ 80, 443 }} {verdict}")
        time.sleep(seconds)
        self.nft("flush chain inet soak output")


def held(process, temporary):
    """Returns a worker's MiB of memory, open files, threads, and MiB of temporary files."""
    folder = pathlib.Path(f"/proc/{process.pid}")
    status = dict(
        line.split(":", 1) for line in (folder / "status").read_text("utf-8").splitlines()
    )
    files = [path.stat().st_size for path in temporary.rglob("*") if path.is_file()]
    return {
        "mib": int(status["VmRSS"].split()[0]) / 1024,
        "files": len(list((folder / "fd").iterdir())),
        "threads": int(status["Threads"]),
        "temporary_mib": sum(files) / 2**20,
    }


def look(database, fleet):
    """Returns each value's maximum over all workers, and Postgres' connections and table sizes."""
    workers = []
    for number, process in enumerate(fleet.processes):
        if process.poll() is not None:
            sys.exit(f"worker {number} ended with {process.returncode}: see worker-{number}.log")
        workers.append(held(process, FOLDER / f"temporary-{number}"))
    most = {name: max(worker[name] for worker in workers) for name in workers[0]}
    size = "select coalesce(sum(pg_total_relation_size(oid)), 0) / 1048576.0 from pg_class where "
    return most | {
        "connections": database.number("select count(*) from pg_stat_activity"),
        "links_mib": database.number(f"{size} relkind = 'r' and relname ~ '^links'"),
        "slots_mib": database.number(f"{size} relkind = 'r' and relname ~ 'slots$'"),
    }


def growth(looks):
    """Returns each value's medians in the second and in the last third of the run."""
    third = len(looks) // 3
    of = {}
    for name in looks[0]:
        second = statistics.median(look[name] for look in looks[third : 2 * third])
        last = statistics.median(look[name] for look in looks[2 * third :])
        of[name] = [round(second, 1), round(last, 1)]
    return of


def early(log, unreachable):
    """Returns two numbers: how many requests started less than the delay after the end of the
    previous one to the same host, except while servers were unreachable, and how many requests
    there were."""
    ended, pairs, requests = {}, 0, 0
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if len(fields) != 6:
                continue
            start, end, host = int(fields[0]), int(fields[1]), fields[4]
            requests += 1
            if any(start < until and end > since for since, until in unreachable):
                ended.pop(host, None)
                continue
            # The server logs a request's end a little before the client sees it, and its start
            # a little after.
            if host in ended and start - ended[host] < (DELAY_MS - 1) * 1000:
                pairs += 1
            ended[host] = max(end, ended.get(host, 0))
    return pairs, requests


def check(database):
    """Checks that the sums add up, and that no URL is recorded twice."""
    words = "(select coalesce(sum(value::bigint), 0) from jsonb_each_text({}))"
    refused, left = words.format("refused"), words.format('"left"')
    ended = f"captured + failed + {refused} + {left}"
    uneven = database.lines(
        f"select crawl, slot from everytab.crawl_slots where known <> pending + {ended}"
    )
    twice = database.number(
        "select count(*) from (select 1 from everytab.fetches"
        " group by crawl, host_hash, url_hash having count(*) > 1) as twice"
    )
    return uneven, twice


def soak():
    """Runs crawls for MINUTES on an internet that changes and fails."""
    minutes, change, down = setting("MINUTES", 60), setting("CHANGE", 40), setting("DOWN", 12)
    if minutes * 60 < 6 * LOOK_S:
        sys.exit(f"MINUTES={minutes}: at least 6 looks, so that each third has two samples")
    internet = Internet(
        "--page-bytes", "8000", "--dead", "30", "--slow", "200", "--slow-ms", "20-2000",
        "--crawl-delay", "50", "--crawl-delay-ms", "1000-5000", "--sitemaps", "300",
        "--traps", "all", "--trap-hosts", "60",
        hosts=setting("HOSTS", 400), pages=setting("PAGES", 400_000),
    )
    seeds, hosts = seeds_of(internet.expected("page"))
    few = FOLDER / "few.txt"
    few.write_text("\n".join(f"http://{host}/" for host in hosts[:40]) + "\n", encoding="utf-8")
    with internet:
        database, weather = Database("soak"), Weather(internet)
        politeness = ["--delay", f"{DELAY_MS}ms"]
        database.start(seeds, "--scope", "any", "--depth", 1000, "--site-pages", 1_000_000,
                       *politeness)
        repeated = database.start(few, "--scope", "host", "--depth", 2, "--site-pages", 200,
                                  *politeness)
        runs, looks, begun = 1, [], time.monotonic()
        with Workers(internet, database, hosts, setting("WORKERS", 2)) as fleet:
            looked, happened = begun, begun
            while (now := time.monotonic()) - begun < minutes * 60:
                if now - happened >= change:
                    happened = now
                    weather.next(down)
                if database.state(repeated)["state"] == "ended":
                    options = ["--scope", "host", "--depth", 2, "--site-pages", 200, *politeness]
                    repeated = database.start(few, "--again", repeated, *options)
                    runs += 1
                if now - looked >= LOOK_S:
                    looked = now
                    looks.append(look(database, fleet))
                    rounded = {name: round(value, 1) for name, value in looks[-1].items()}
                    fetched = database.number("select count(*) from everytab.fetches")
                    say(what="soak", look=len(looks), runs=runs, fetched=fetched, **rounded)
                time.sleep(1)
        uneven, twice = check(database)
    pairs, requests = early(internet.log, weather.unreachable)
    grown = growth(looks)
    say(what="soak", minutes=minutes, weather=weather.happened, runs=runs, requests=requests,
        early=pairs, recorded_twice=twice, uneven_sums=uneven, second_and_last_third=grown)
    more = [name for name, (second, last) in grown.items() if last > second * GROWTH + 2]
    if minutes < LONG_ENOUGH:
        print(f"growth is judged from {LONG_ENOUGH} minutes on", file=sys.stderr)
        more = []
    # A crawl waits some minutes before it gives up unreachable hosts, so short runs may
    # complete few crawls.
    few = minutes >= LONG_ENOUGH and runs < 2
    if more or pairs or twice or uneven or few:
        sys.exit(f"grew: {more}; early: {pairs}; twice: {twice}; uneven: {uneven}; runs: {runs}")


if __name__ == "__main__":
    soak()
