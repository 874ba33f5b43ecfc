#!/usr/bin/env bash
# Tests Caddy with the site from ansible/roles/proxy in front of a service that returns the requests
# that it received: proxy.sh REPOSITORY. Debian's own program serves on loopback, with a certificate
# that it creates.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
repository="$(realpath "${1:?}")"
export PATH="$PATH:$target/caddy/usr/bin"
if ! have caddy; then
    [ "${CI:-}" != true ] || die "caddy is missing: scripts/install/infra.sh installs it"
    echo "skipped: the proxy of the HTTP service: caddy is missing"
    exit 0
fi
exec python3 - "$repository/ansible/roles/proxy/files/Caddyfile" <<'PROXY'
import http.server
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPSConnection

KEY = "et_abcdefghijkl_" + "a" * 52


class Service(http.server.BaseHTTPRequestHandler):
    asked = []

    def answer(self):
        length = int(self.headers.get("content-length") or 0)
        self.asked.append((self.path, dict(self.headers.items()), len(self.rfile.read(length))))
        self.send_response(202)
        self.send_header("Content-Length", "2")
        self.send_header("Server", "backend")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A body that was cut off, as it should be."""


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def ask(port, method, path, body=None, headers=None):
    context = ssl._create_unverified_context()
    connection = HTTPSConnection("localhost", port, context=context, timeout=20)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def faults(port, server):
    headers = {"Authorization": "Bearer " + KEY, "X-Forwarded-For": "10.0.0.1",
               "X-Real-IP": "10.0.0.1"}
    status, said = ask(port, "GET", "/v1/url/x?wait=1", headers=headers)
    if (status, said.get("server"), said.get("strict-transport-security")) != (
            202, None, "max-age=86400"):
        yield f"an answer: {status} {said}"
    path, heard, _ = Service.asked.pop()
    lower = {name.lower(): value for name, value in heard.items()}
    if path != "/v1/url/x?wait=1" or lower.get("authorization") != "Bearer " + KEY:
        yield f"the service heard {path} {heard}"
    if lower.get("x-forwarded-for") != "127.0.0.1" or "x-real-ip" in lower:
        yield f"a client says where it comes from: {lower}"
    status, _ = ask(port, "POST", "/v1/url/batch", b"x" * (8 << 20))
    if status != 202 or Service.asked.pop()[2] != 8 << 20:
        yield f"a body of 8 MiB: {status}"
    try:
        status, _ = ask(port, "POST", "/v1/url/batch", b"x" * ((8 << 20) + 1))
    except OSError:
        status = 413
    if status not in (413, 502) or any(length > 8 << 20 for _, _, length in Service.asked):
        yield f"a larger body: {status}"
    server.shutdown()
    server.server_close()
    status, _ = ask(port, "GET", "/readyz")
    if status != 502:
        yield f"the service is away: {status}"


def main():
    server = Server(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, \
            open(folder + "/log", "w+", encoding="utf-8") as log:
        caddy = subprocess.Popen(
            ["caddy", "run", "--config", sys.argv[1], "--adapter", "caddyfile"], stdout=log,
            stderr=log,
            env={"PATH": os.environ["PATH"], "HOME": folder, "XDG_DATA_HOME": folder,
                 "XDG_CONFIG_HOME": folder, "EVERYTAB_API_DOMAIN": f"localhost:{port}",
                 "EVERYTAB_CONTACT": "bot@everytab.org",
                 "EVERYTAB_API_LISTEN": f"127.0.0.1:{server.server_port}"})
        try:
            give_up = time.monotonic() + 30
            while True:
                try:
                    ask(port, "GET", "/")
                    break
                except OSError:
                    if time.monotonic() > give_up or caddy.poll() is not None:
                        log.seek(0)
                        sys.exit("Caddy does not serve:\n" + log.read())
                    time.sleep(0.1)
            Service.asked.clear()
            found = list(faults(port, server))
        finally:
            caddy.terminate()
            caddy.wait()
        log.seek(0)
        said = log.read()
        if KEY in said:
            found.append("a key is in the log")
        if "/v1/url/x?wait=1" not in said:
            found.append(f"requests are not logged: {said[-500:]}")
    print("\n".join(found) or "proxy: TLS, limits, and no key in its log")
    sys.exit(bool(found))


main()
PROXY
