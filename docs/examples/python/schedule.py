#!/usr/bin/env python3
"""Schedules a nightly crawl of a site, and prints when each of the key's schedules is due.

    API=http://127.0.0.1:8088 KEY=et_..._... ./schedule.py NAME https://example.com/
"""

import sys

from client import Problem, call

SETTINGS = {"scope": "host", "depth": 3, "limit": 1000}


def schedules():
    """Yields all of the key's schedules. Lists are paged, and the last page has no `next`."""
    after = {}
    while True:
        page = call("GET", "/v1/url/schedule", params=after)
        yield from page["schedules"]
        if not page.get("next"):
            return
        after = {"after": page["next"]}


def main(name, url):
    """Adds the schedule if it does not exist, and lists all schedules."""
    # Repeating the request does not add a second schedule (client.py: Idempotency-Key).
    wanted = {"name": name, "urls": [url], "at": "03:00", "settings": SETTINGS}
    try:
        call("POST", "/v1/url/schedule", json=wanted)
    except Problem as problem:
        # Names are unique, so this schedule was added on another day.
        if problem.code != "name_taken":
            raise
    for one in schedules():
        print("{name}: due at {next_at}, {fired} crawls so far".format(**one))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Problem as problem:
        sys.exit(str(problem))
