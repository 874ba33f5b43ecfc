#!/usr/bin/env python3
"""Serves instance metadata, version 2, at 169.254.169.254: metadata.py INSTANCE_ID ROLE CREDENTIALS

Runs in a machine's network. As on EC2, requests need a token. PUT /control/NAME, which EC2 does not
have, sets a value for the instance, and an empty body removes it. CREDENTIALS is a JSON document
with the credentials of the instance's role.
"""
import http.server
import sys
import time

FACTS = {
    "instance-id": sys.argv[1],
    "placement/region": "us-east-1",
    "autoscaling/target-lifecycle-state": "InService",
    "iam/security-credentials/": sys.argv[2],
    "iam/security-credentials/" + sys.argv[2]: sys.argv[3],
}
TOKEN = f"token-{time.time()}"


class Metadata(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, code, body=""):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body.encode())))
        self.send_header("X-aws-ec2-metadata-token-ttl-seconds", "300")
        self.end_headers()
        self.wfile.write(body.encode())

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        if self.path == "/latest/api/token":
            return self.answer(200, TOKEN)
        if not self.path.startswith("/control/"):
            return self.answer(404)
        name = self.path.removeprefix("/control/")
        if body:
            FACTS[name] = body
        else:
            FACTS.pop(name, None)
        return self.answer(200)

    def do_GET(self):
        if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
            return self.answer(401)
        name = self.path.removeprefix("/latest/meta-data/")
        return self.answer(200, FACTS[name]) if name in FACTS else self.answer(404)


http.server.ThreadingHTTPServer(("169.254.169.254", 80), Metadata).serve_forever()
