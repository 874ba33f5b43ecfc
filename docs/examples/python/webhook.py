#!/usr/bin/env python3
"""Receives webhooks from a crawl service, verifies them, and prints each event as a line of JSON.

    SECRET=whsec_... ./webhook.py 127.0.0.1:9000

This program needs only the standard library. Use a reverse proxy for TLS. An event may arrive more
than once with the same id, so store the ids of processed events.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = base64.b64decode(os.environ["SECRET"].removeprefix("whsec_"))
# An older request may be a copy that an attacker recorded.
TOLERANCE_S = 300
MAX_BYTES = 1 << 20


def is_genuine(headers, body):
    """Returns whether the request was signed with the secret within the last minutes."""
    identity, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    try:
        is_recent = abs(time.time() - int(sent_at)) <= TOLERANCE_S
    except ValueError:
        return False
    signed = f"{identity}.{sent_at}.".encode() + body
    right = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest())
    # There are two signatures while the secret is being rotated.
    given = headers.get("webhook-signature", "").split(" ")
    return is_recent and any(hmac.compare_digest(b"v1," + right, one.encode()) for one in given)


class Receiver(BaseHTTPRequestHandler):
    """Responds with 204 to genuine webhooks, and with 401 to others."""

    timeout = 30

    def do_POST(self):
        """Verifies the received bytes before parsing them as JSON."""
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAX_BYTES:
            return self.answer(413)
        body = self.rfile.read(int(length))
        if not is_genuine(self.headers, body):
            return self.answer(401)
        print(json.dumps({"id": self.headers["webhook-id"], **json.loads(body)}), flush=True)
        return self.answer(204)

    def answer(self, status):
        """Sends a response without a body."""
        self.close_connection = True
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Does nothing, so that only events are printed."""


def main():
    """Serves at the address given on the command line until it is interrupted."""
    host, port = sys.argv[1].rsplit(":", 1)
    server = ThreadingHTTPServer((host, int(port)), Receiver)
    print("listening on {}:{}".format(*server.server_address), file=sys.stderr, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
