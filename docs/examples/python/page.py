#!/usr/bin/env python3
"""Captures a page, and prints it as Markdown.

    API=http://127.0.0.1:8088 KEY=et_..._... ./page.py https://example.com/
"""

import sys

from client import Problem, call


def main(url):
    """Submits the URL, waits until it is settled, and prints the page."""
    # Accept a capture from the last day.
    page = call("POST", "/v1/url", json={"url": url, "max_age_s": 86400})
    path = f"/v1/url/{page['id']}"
    while True:
        # The service responds when the URL is settled, after at most a minute.
        page = call("GET", path, params={"wait": 60, "include": "markdown"})
        if page["state"] != "due":
            break
    # A failed URL may have contents, too, and some captures have no Markdown, such as redirects and
    # images: `missing` says why.
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
