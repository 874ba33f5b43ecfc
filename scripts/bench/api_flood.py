"""Measures the cost of the HTTP service's rejections, and how a flood of them affects valid
callers.

scripts/bench/api.sh calls this like api.py. Prints one line of JSON per kind of rejection, after
checking its results.
"""

import base64
import collections
import http.client
import os
import sys
import threading
import time

from api import Client, Service, wrk
from crawl import Database, say, setting


class Callers:
    """Valid clients that send requests at an even rate until they are stopped, each with its own
    key and connection."""

    RATE = 25

    def __init__(self, keys):
        self.took, self.wrong, self.is_over = [], [], threading.Event()
        self.threads = [threading.Thread(target=self.call, args=[key]) for key in keys]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        if self.wrong:
            sys.exit(f"valid callers got {collections.Counter(self.wrong)}")

    def call(self, key):
        connection = http.client.HTTPConnection("127.0.0.1", Service.PORT, timeout=90)
        begun, turn = time.monotonic(), 0
        while not self.is_over.wait(max(0, begun + turn / self.RATE - time.monotonic())):
            turn = max(turn + 1, int((time.monotonic() - begun) * self.RATE))
            asked = time.monotonic()
            connection.request("GET", "/v1/url/filter", headers={"Authorization": f"Bearer {key}"})
            answer = connection.getresponse()
            answer.read()
            self.took.append(time.monotonic() - asked)
            if answer.status != 200:
                self.wrong.append(answer.status)

    def milliseconds(self, share):
        """Returns the latency in milliseconds that this share of the requests does not exceed."""
        took = sorted(self.took)
        return round(took[min(len(took) - 1, int(len(took) * share))] * 1000, 1)


def wrong_key():
    """Returns an unknown key in the valid form."""
    letters = base64.b32encode(os.urandom(40)).decode().lower()
    return f"et_{letters[:12]}_{letters[12:]}"


def main():
    """Sends rejected requests without a pause. Measures their number and cost, and the latency
    of valid clients."""
    database, seconds = Database("flood"), setting("SECONDS_A_FLOOD", 15)
    connections = setting("CONNECTIONS", 64)
    sessions = "select sessions from pg_stat_database where datname = current_database()"

    def opened():
        # Postgres reports a session within a second.
        time.sleep(2)
        return database.number(sessions)

    with Service(database) as service:
        keys = service.keys(5)
        slow = database.run("keys", "add", "slow", "--requests-per-second", "0.01", "--burst",
                            "1").strip()
        read = "/v1/url/filter"
        absent = "/v1/crawls/00000000-0000-4000-8000-000000000000"
        for key in [*keys, slow]:
            Client(key).must("GET", read)
        with Callers(keys[1:]) as quiet:
            time.sleep(seconds)
        reads = None
        for what, paths, is_refused in [
            ("valid reads", [keys[0], read], False),
            ("401, one wrong key", [wrong_key(), read], True),
            ("401, many wrong keys", [part for _ in range(500) for part in (wrong_key(), read)],
             True),
            ("404", [keys[0], absent], True),
            ("429", [slow, read], True),
        ]:
            before = opened()
            server, own = database.processor(), service.processor()
            with Callers(keys[1:]) as callers:
                seen = wrk(1, connections, seconds, "api_load.lua", service.address, *paths)
            server, own = database.processor() - server, service.processor() - own
            # One of these sessions belongs to the previous query.
            new = opened() - before - 1
            rate = seen["answered"] / seen["seconds"]
            reads = reads or rate
            if seen["broken"] or seen["refused"] != (seen["answered"] if is_refused else 0):
                sys.exit(f"{what}: {seen}")
            say(what="flood", of=what, connections=connections, seconds=seconds,
                per_s=round(rate), to_valid_reads=round(rate / reads, 2), p99_ms=seen["p99_ms"],
                new_sessions=int(new),
                new_sessions_per_1000=round(new * 1000 / seen["answered"], 2),
                valid_p99_ms_quiet=quiet.milliseconds(0.99),
                valid_p99_ms=callers.milliseconds(0.99),
                valid_p99_ratio=round(callers.milliseconds(0.99) / quiet.milliseconds(0.99), 2),
                valid_p50_ms_quiet=quiet.milliseconds(0.5), valid_p50_ms=callers.milliseconds(0.5),
                api_cores=round(own / seconds, 2), postgres_cores=round(server / seconds, 2))
            # The service may reopen connections that its pool closed while idle.
            if is_refused and new > 8 + seen["answered"] / 1000 and setting("STRICT", 1):
                sys.exit(f"{what}: {new} new sessions of Postgres")


if __name__ == "__main__":
    main()
