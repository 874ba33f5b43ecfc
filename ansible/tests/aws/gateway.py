"""A gateway to AWS for the boot test: TLS under AWS's names, permissions, a record of all calls,
and injected faults.

moto is behind it and accepts every caller, so this gateway rejects a request unless the caller's
policies allow it. The signature's access key identifies the caller, and a session's key is valid
only together with its token. Signatures are not verified. As in S3, a caller who may not list a
bucket gets `AccessDenied` for a missing object.
"""
import http.client
import http.server
import json
import re
import ssl
import threading
import urllib.parse
from typing import NamedTuple

from . import calls, policies


# The access key for the test itself and the operator's laptop. It has all rights, and its calls
# are not recorded.
OPERATOR = "test"
# Common Crawl's bucket over HTTPS, and the list of its crawls.
DATA, INDEX = "data.commoncrawl.org", "index.commoncrawl.org"
PUBLIC = (DATA, INDEX)


class Principal(NamedTuple):
    role: str
    token: str
    statements: list
    # The policy of the network's S3 endpoint, which its machines use.
    endpoint: list | None = None


class Role(NamedTuple):
    """What a role may do, and the statements of its trust policy, which say who may assume it."""
    name: str
    statements: list
    trust: list
    endpoint: list | None = None

    @property
    def arn(self):
        return f"arn:aws:iam::{calls.ACCOUNT}:role/{self.name}"


class Entry(NamedTuple):
    """A call by a principal. `sids` are the statements that allowed it. None if it was rejected."""
    role: str
    action: str
    resource: str
    sids: tuple


class Storm(NamedTuple):
    """Calls that fail for a while."""
    action: str
    resource: str
    status: int
    code: str
    left: int


class Account:
    """The principals, their calls, and the injected faults. All threads of the gateway share this.
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.principals, self.record, self.storms, self.unknown = {}, [], [], []
        # Names of Common Crawl's crawls, newest first.
        self.crawls = []
        # A function is called with (role, key) when a role is assumed.
        self.roles, self.taken = {}, lambda role, key: None

    def admit(self, key, principal):
        with self.lock:
            self.principals[key] = principal

    def session(self, role, name):
        with self.lock:
            key = f"ASIA{len(self.principals):04}{re.sub('[^A-Z0-9]', '', name.upper())}"
        self.admit(key, Principal(role.name, f"session of {key}", role.statements, role.endpoint))
        self.taken(role, key)
        return {"AccessKeyId": key, "SecretAccessKey": "secret", "Token": f"session of {key}",
                "Expiration": "2099-01-01T00:00:00Z"}

    def assume(self, key, arn, name):
        """Returns a session of a role. None if the role does not trust the caller's role."""
        role = self.roles.get(arn)
        caller = f"arn:aws:iam::{calls.ACCOUNT}:role/{self.principals[key].role}"
        trusts = role is not None and any(
            caller in policies.listed(one["Principal"].get("AWS", []))
            for one in role.trust if one["Effect"] == "Allow")
        return self.session(role, name) if trusts else None

    def storm(self, action, resource, status, code, times):
        with self.lock:
            self.storms.append(Storm(action, resource, status, code, times))

    def in_storm(self, asked):
        with self.lock:
            for place, storm in enumerate(self.storms):
                if storm.left and any(policies.matches(storm.action, call.action)
                                      and policies.matches(storm.resource, call.resource)
                                      for call in asked):
                    self.storms[place] = storm._replace(left=storm.left - 1)
                    return storm
        return None

    def judge(self, key, token, asked):
        """Returns the rejected call as (role, call), or None."""
        with self.lock:
            principal = self.principals.get(key)
        if principal is None or principal.token != token:
            return ("nobody", asked[0])
        for call in asked:
            allowed, by = policies.decide(principal.statements, *call)
            if call.action.startswith("s3:") and principal.endpoint is not None:
                allowed = allowed and policies.decide(principal.endpoint, *call)[0]
            sids = tuple(one["Sid"] for one in by) if allowed else ()
            with self.lock:
                self.record.append(Entry(principal.role, call.action, call.resource, sids))
            if not allowed:
                return (principal.role, call)
        return None

    def may_list(self, key, bucket):
        with self.lock:
            principal = self.principals.get(key)
        return principal is not None and policies.decide(
            principal.statements, "s3:ListBucket", bucket, {"aws:SecureTransport": "true"})[0]


def signer(headers, query):
    found = re.search(r"Credential=([A-Z0-9a-z]+)/", headers.get("authorization", "")) or \
        re.search(r"X-Amz-Credential=([A-Z0-9a-z]+)", query)
    return found[1] if found else None


def error(service, status, code, message):
    """Returns an error in the service's own form: (status, content type, body)."""
    if service == "s3":
        return status, "application/xml", f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    if service in ("secretsmanager", "ssm", "logs"):
        said = {"__type": code + "Exception", "message": message}
        return 400, "application/x-amz-json-1.1", json.dumps(said)
    return status, "text/xml", ("<ErrorResponse><Error><Type>Sender</Type>"
                                f"<Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>")


def quota(headers, body):
    """Returns a quota, because moto has no quotas for cores. The mock provider also uses 640."""
    if not headers.get("x-amz-target", "").endswith(".GetServiceQuota"):
        return 400, [], b'{"__type": "UnknownOperationException"}'
    asked = json.loads(body)
    found = {"Quota": {"ServiceCode": asked["ServiceCode"], "QuotaCode": asked["QuotaCode"], "Value": 640.0}}
    return 200, [("Content-Type", "application/x-amz-json-1.1")], json.dumps(found).encode()


class Gate(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    account, behind = None, None

    def log_message(self, *args):
        pass

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def answer(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        # The response to a HEAD request has the object's length, but no body.
        length = dict((name.lower(), value) for name, value in headers).get("content-length")
        self.send_header("Content-Length", length if self.command == "HEAD" and length else len(body))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, service, status, code, message):
        status, kind, body = error(service, status, code, message)
        self.answer(status, [("Content-Type", kind)], body.encode())

    def handle_call(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        host, body = headers.get("host", ""), self.body()
        path, _, query = self.path.partition("?")
        if host in PUBLIC:
            return self.answer(*self.common_crawl(host, path))
        service = calls.service_of(host, headers)
        if service == "s3" and path == "/favicon.ico":
            # moto has its own favicon on every host.
            self.name_bucket(calls.s3_place(host, path)[0])
        key = signer(headers, query)
        if key == OPERATOR and service == "servicequotas":
            return self.answer(*quota(headers, body))
        if key == OPERATOR:
            return self.answer(*self.forward(body))
        try:
            asked = calls.of_request(service, self.command, host, path, query, headers, body)
        except (calls.Unknown, KeyError) as unknown:
            self.account.unknown.append(f"{self.command} {host}{self.path}: {unknown}")
            return self.refuse(service, 400, "UnknownToThisTest", str(unknown))
        storm = self.account.in_storm(asked)
        if storm:
            return self.refuse(service, storm.status, storm.code, "weather of the test")
        refused = self.account.judge(key, headers.get("x-amz-security-token"), asked)
        if refused:
            role, call = refused
            return self.refuse(service, 403, "AccessDenied",
                               f"{role} is not authorized to perform: {call.action} on {call.resource}")
        if asked[0].action == "sts:AssumeRole":
            return self.assume(key, asked[0].resource, body)
        status, found, said = self.forward(body)
        bucket = asked[0].resource.split("/")[0]
        if status == 404 and service == "s3" and not self.account.may_list(key, bucket):
            return self.refuse(service, 403, "AccessDenied", "Access Denied")
        return self.answer(status, found, said)

    def common_crawl(self, host, path):
        if self.command not in ("GET", "HEAD"):
            return 403, [], b"only reading"
        if host == INDEX:
            known = [{"id": name} for name in self.account.crawls]
            return (200, [("Content-Type", "application/json")], json.dumps(known).encode()) \
                if path == "/collinfo.json" else (404, [], b"")
        self.name_bucket("commoncrawl")
        return self.forward(b"")

    def name_bucket(self, bucket):
        self.path = f"/{bucket}{self.path}"
        self.headers.replace_header("Host", "s3.amazonaws.com")

    def assume(self, key, arn, body):
        name = urllib.parse.parse_qs(body.decode())["RoleSessionName"][0]
        made = self.account.assume(key, arn, name)
        if made is None:
            return self.refuse("sts", 403, "AccessDenied", f"{arn} does not trust the caller")
        space = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"'
        said = (f"<AssumeRoleResponse {space}><AssumeRoleResult><Credentials>"
                f"<AccessKeyId>{made['AccessKeyId']}</AccessKeyId>"
                f"<SecretAccessKey>{made['SecretAccessKey']}</SecretAccessKey>"
                f"<SessionToken>{made['Token']}</SessionToken>"
                f"<Expiration>{made['Expiration']}</Expiration></Credentials><AssumedRoleUser>"
                f"<AssumedRoleId>A:{name}</AssumedRoleId><Arn>{arn}/{name}</Arn></AssumedRoleUser>"
                "</AssumeRoleResult></AssumeRoleResponse>")
        return self.answer(200, [("Content-Type", "text/xml")], said.encode())

    def forward(self, body):
        connection = http.client.HTTPConnection(*self.behind, timeout=120)
        try:
            connection.putrequest(self.command, self.path, skip_host=True,
                                  skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("transfer-encoding", "connection", "content-length", "expect"):
                    connection.putheader(name, value)
            connection.putheader("Content-Length", len(body))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_call


def start(account, address, behind, certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    gate = type("BoundGate", (Gate,), {"account": account, "behind": behind})

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads, request_queue_size = True, 128

        def finish_request(self, request, client_address):
            # A slow peer must not delay others, so the handshake is in the request's own
            # thread.
            request.settimeout(130)
            with context.wrap_socket(request, server_side=True) as inside:
                super().finish_request(inside, client_address)

        def handle_error(self, request, client_address):
            # If a machine is killed or cut off, it closes the connection during a handshake or
            # a response.
            pass

    server = Server(address, gate)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
