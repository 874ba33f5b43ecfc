"""Sends requests to a crawl service with httpx. The other programs in this directory import it.

The environment has the service's address and the key: API=http://127.0.0.1:8088 KEY=et_..._...
"""

import os
import time
import uuid

import httpx

TRIES = 5
# A daily quota may be used up for hours. Report this instead of waiting.
PATIENCE_S = 120

# A request may wait for up to 60 seconds.
service = httpx.Client(
    base_url=os.environ["API"],
    headers={"Authorization": f"Bearer {os.environ['KEY']}"},
    timeout=90,
)


class Problem(Exception):
    """An error response. docs/api.md lists the values of `code`."""

    def __init__(self, problem):
        super().__init__(f"{problem['code']}: {problem.get('detail') or problem['title']}")
        self.code = problem["code"]


def call(method, path, **options):
    """Sends a request, retries it after `Retry-After`, and returns the response's JSON.

    Raises Problem if the service rejects the request.
    """
    # With this key, a POST whose response was lost is performed only once.
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    for tries_left in reversed(range(TRIES)):
        try:
            answer = service.request(method, path, headers=headers, **options)
        except httpx.TransportError:
            # The service is unreachable. It may be restarting.
            if tries_left == 0:
                raise
            time.sleep(2)
            continue
        if answer.is_success:
            return answer.json()
        # Responses with 429 and 503 say when to retry.
        pause_s = answer.headers.get("Retry-After", "")
        if tries_left == 0 or not pause_s.isdecimal() or int(pause_s) > PATIENCE_S:
            break
        time.sleep(int(pause_s))
    # A proxy may have sent the response, so it may not be a problem document.
    if answer.headers.get("Content-Type") != "application/problem+json":
        answer.raise_for_status()
    raise Problem(answer.json())
