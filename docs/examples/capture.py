#!/usr/bin/env python3
"""Captures one page by the HTTP service, and prints its text: docs/api.md in Python.

    API=http://127.0.0.1:8088 KEY=et_..._... python3 docs/examples/capture.py https://example.com/

It needs the standard library alone. Exit status: 0 the page was captured, 1 it was not.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

API = os.environ["API"]
KEY = os.environ["KEY"]
# The service is asked itself, whatever proxy the environment names.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
TRIES = 5


def ask(path, body=None, **parameters):
    """The bytes that the service answers; with a body the request is a POST."""
    query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{API}{path}{query}", data, headers)
    for tries_left in reversed(range(TRIES)):
        try:
            # A request waits for up to 60 seconds.
            with OPENER.open(request, timeout=90) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            # 429 and 503 say when it helps to come again.
            seconds = error.headers.get("Retry-After")
            problem = json.load(error)
            if seconds is None or tries_left == 0:
                sys.exit(f"{problem['code']}: {problem.get('detail') or problem['title']}")
            time.sleep(int(seconds))


def main():
    """Submits the URL of the command line, waits for it, and prints what was kept."""
    page = json.loads(ask("/v1/url", {"url": sys.argv[1], "max_age_s": 86400}))
    while page["state"] == "due":
        page = json.loads(ask(f"/v1/url/{page['id']}", wait=60))
    if page["state"] != "captured":
        sys.exit(f"{page['state']}: {page.get('outcome') or page.get('reason')}")
    print(f"{page['url']} {page['status']} {page['at']}", file=sys.stderr)
    capture = {"url": sys.argv[1], "crawl": page["crawl"], "as": "text"}
    sys.stdout.write(ask("/v1/crawled/html", **capture).decode())


if __name__ == "__main__":
    main()
