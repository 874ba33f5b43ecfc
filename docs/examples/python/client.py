"""Requests to a crawl service, by httpx. The other programs of this folder import this one.

The environment names the service and the key: API=http://127.0.0.1:8088 KEY=et_..._...
"""

import os
import time
import uuid

import httpx

TRIES = 5
# A quota of the day may be used up for hours: a person should hear of that, and not wait for it.
PATIENCE_S = 120

# A request waits for up to 60 seconds.
service = httpx.Client(
    base_url=os.environ["API"],
    headers={"Authorization": f"Bearer {os.environ['KEY']}"},
    timeout=90,
)


class Problem(Exception):
    """A refusal of the service: `code` is one of the list in docs/api.md."""

    def __init__(self, problem):
        super().__init__(f"{problem['code']}: {problem.get('detail') or problem['title']}")
        self.code = problem["code"]


def call(method, path, **options):
    """Sends a request, comes again when the service says so, and returns the JSON of the answer.

    Raises Problem if the service refuses it.
    """
    # A POST whose answer was lost is performed once: the service knows the key.
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    for tries_left in reversed(range(TRIES)):
        try:
            answer = service.request(method, path, headers=headers, **options)
        except httpx.TransportError:
            # The service or the way to it is away: it may be starting again.
            if tries_left == 0:
                raise
            time.sleep(2)
            continue
        if answer.is_success:
            return answer.json()
        # 429 and 503 say when it helps to come again.
        pause_s = answer.headers.get("Retry-After", "")
        if tries_left == 0 or not pause_s.isdecimal() or int(pause_s) > PATIENCE_S:
            break
        time.sleep(int(pause_s))
    # Between the service and us may be a proxy, which answers anything.
    if answer.headers.get("Content-Type") != "application/problem+json":
        answer.raise_for_status()
    raise Problem(answer.json())
