#!/usr/bin/env python3
"""Crawls a site, and prints a line for each URL as soon as it is fetched.

    API=http://127.0.0.1:8088 KEY=et_..._... ./crawl.py https://example.com/ STATE

The file STATE stores the crawl and its cursor, so that the same command continues there after an
interruption. At the end the file is removed.
"""

import json
import sys
from pathlib import Path

from client import Problem, call

SETTINGS = {"scope": "host", "depth": 3, "limit": 40, "delay_ms": 250}


def save(file, state):
    """Replaces the whole file, so that an interruption leaves the old one."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(json.dumps(state))
    new.replace(file)


def main(site, file):
    """Starts or continues the crawl, and follows its feed to the end."""
    file = Path(file)
    if not file.exists():
        started = call("POST", "/v1/crawls", json={"urls": [site], "settings": SETTINGS})
        save(file, {"crawl": started["id"]})
    state = json.loads(file.read_text())
    path = f"/v1/crawls/{state['crawl']}"
    while True:
        # Wait up to half a minute for the next URLs.
        after = {"after": state["after"]} if "after" in state else {}
        page = call("GET", f"{path}/feed", params={"wait": 30, **after})
        for fetch in page["fetches"]:
            print(fetch["state"], fetch.get("outcome") or fetch.get("reason"), fetch["url"])
        # Store the cursor after the work that it confirms: an interruption in between repeats a page
        # of the feed, and loses none. A database can store both in one transaction.
        sys.stdout.flush()
        state["after"] = page["next"]
        save(file, state)
        if page["crawl_state"] == "ended" and not page["has_more"]:
            break
    crawl = call("GET", path)
    print(
        "{state} ({ended_by}): {captured} captured, {failed} failed, {known} known".format(**crawl),
        file=sys.stderr,
    )
    file.unlink()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Problem as problem:
        sys.exit(str(problem))
