#!/usr/bin/env python3
"""Captures a page, and prints it as Markdown.

    API=http://127.0.0.1:8088 KEY=et_..._... ./page.py https://example.com/
"""

import sys

from client import Problem, call


def main(url):
    """Submits the URL, waits until it is settled, and prints what was kept."""
    # A capture of the last day is as good as a new one.
    page = call("POST", "/v1/url", json={"url": url, "max_age_s": 86400})
    path = f"/v1/url/{page['id']}"
    while True:
        # The service answers as soon as the URL is settled, after a minute at the latest.
        page = call("GET", path, params={"wait": 60, "include": "markdown"})
        if page["state"] != "due":
            break
    # The page of a failure has contents, too. And not every capture has Markdown: a redirect or a
    # picture has none, and `missing` says why.
    contents = page.get("contents") or {}
    if page["state"] != "captured" or not contents.get("markdown"):
        why = [page.get("outcome"), page.get("reason"), contents.get("missing")]
        sys.exit(f"{page['state']}: {', '.join(filter(None, why))}")
    print(contents["markdown"])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Problem as problem:
        sys.exit(str(problem))
