"""Serves a small web on loopback: a name server, web servers and a log of all requests.

Each host has its own address, so that its listener can be closed separately. This runs in a thread
of the benchmark, in a network namespace whose ports 53, 80 and 443 are free.
"""

import asyncio
import ctypes
import hashlib
import itertools
import socket
import ssl
import struct
import subprocess
import threading
import time
import typing

RANGE = "127.32.0.0/11"
ADDRESS = 0x7F200001
# Our resolver caches a name for at least a minute.
TTL_S = 60
RECORD_A, SERVFAIL, NXDOMAIN = 1, 2, 3
MAX_HEAD_BYTES = 16_384
NOTES = {200: "OK", 404: "Not Found"}
# What happens to the connection after the response.
KEEP, CLOSE, HANG, RESET = "keep", "close", "hang", "reset"
ETH_P_IP, SO_ATTACH_FILTER, SO_TIMESTAMPNS, PACKET_OUTGOING = 0x0800, 26, 35, 4
# A classic BPF program that accepts TCP segments with SYN and without ACK.
SYN_FILTER = [
    (0x30, 0, 0, 9), (0x15, 0, 5, socket.IPPROTO_TCP), (0xB1, 0, 0, 0), (0x50, 0, 0, 13),
    (0x54, 0, 0, 0x12), (0x15, 0, 1, 0x02), (0x06, 0, 0, 64), (0x06, 0, 0, 0),
]


def microseconds():
    """Returns the time in microseconds, on the clock of the log."""
    return time.monotonic_ns() // 1_000


def http_answer(status, body, *headers):
    lines = [f"HTTP/1.1 {status} {NOTES.get(status, 'Status')}", f"Content-Length: {len(body)}",
             "Content-Type: text/html; charset=utf-8", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


NO_DIGITS = str.maketrans("0123456789", "ghijklmnop")


def html(title, links):
    """Builds a page with links, and with words that no other page has."""
    # The words have no digits, because pages that differ only in numbers count as equal.
    digests = (hashlib.sha256(f"{title}-{number}".encode()) for number in range(60))
    words = " ".join(digest.hexdigest()[:12].translate(NO_DIGITS) for digest in digests)
    items = "".join(f'<li><a href="{link}">{link}</a>' for link in links)
    return f"<!doctype html><title>{title}</title><p>{words}<ul>{items}</ul>".encode()


class Answer(typing.NamedTuple):
    # 0 if no response is sent.
    status: int
    sent: bytes
    then: str = KEEP


def reset(writer):
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def until_closed(reader):
    try:
        while await reader.read(MAX_HEAD_BYTES):
            pass
    except OSError:
        pass


class Host:
    """A host whose robots.txt allows everything. Subclasses define its pages and faults."""

    def __init__(self, name):
        self.name = name
        self.web = self.address = None
        self.writers = set()
        self.listeners = {}

    async def open(self):
        await self.listen(80, self.serve)

    async def listen(self, port, serve, context=None):
        """Listens on a port, and replaces the listener that it has."""
        self.close(port)
        self.listeners[port] = await asyncio.start_server(
            serve, self.address, port, ssl=context, limit=MAX_HEAD_BYTES
        )

    def close(self, port):
        if listener := self.listeners.pop(port, None):
            listener.close()

    def drop(self):
        for writer in list(self.writers):
            reset(writer)

    def lookup(self):
        """Returns the code of a DNS response, where 0 means the address. `None` if there is no
        response."""
        return 0

    async def serve(self, reader, writer):
        is_https = writer.get_extra_info("ssl_object") is not None
        self.writers.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path, start = head.split(b" ", 2)[1].decode(), microseconds()
                answer = self.answer(path, is_https)
                self.note(start, answer.status, path)
                writer.write(answer.sent)
                await writer.drain()
                if answer.then == RESET:
                    reset(writer)
                elif answer.then == HANG:
                    await until_closed(reader)
                if answer.then != KEEP:
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    def note(self, start, status, path):
        """Logs a request whose response is sent now. If there is no response, its end is its
        start."""
        end = microseconds() if status else start
        self.web.log.append((start, end, status, self.name, path))

    def answer(self, path, _is_https):
        status, body = self.page(path)
        return Answer(status, http_answer(status, body))

    def page(self, path):
        if path == "/robots.txt":
            return 200, b"User-agent: *\nDisallow: /private/\n"
        return 404, b"no such page"


class NameServer(asyncio.DatagramProtocol):
    def __init__(self, web):
        self.web, self.transport = web, None

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        labels, at = [], 12
        while length := data[at]:
            labels.append(data[at + 1 : at + 1 + length].decode().lower())
            at += 1 + length
        (kind,) = struct.unpack_from(">H", data, at + 1)
        host = self.web.by_name.get(".".join(labels))
        code = host.lookup() if host else NXDOMAIN
        if host and kind == RECORD_A:
            self.web.lookups.append((microseconds(), host.name))
        if code is None:
            return
        record = b""
        if host and code == 0 and kind == RECORD_A:
            record = struct.pack(">HHHIH", 0xC00C, kind, 1, TTL_S, 4)
            record += socket.inet_aton(host.address)
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, bool(record), 0, 0)
        self.transport.sendto(head + data[12 : at + 5] + record, addr)


class Web:
    """Hosts, their name server and the log of both."""

    def __init__(self, hosts, folder):
        self.hosts = list(hosts)
        self.by_name = {host.name: host for host in self.hosts}
        # Requests (start, end, status, host, path), DNS queries for an address (time, host) and
        # connection attempts (time, host, port), with times in microseconds.
        self.log, self.lookups, self.attempts = [], [], []
        self.folder, self.context = folder, None
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        certificate = self.make_certificate()
        self.address = {"dns": "127.0.0.1:53", "ca_file": certificate, "allow_ranges": [RANGE]}
        for number, host in enumerate(self.hosts):
            host.web, host.address = self, socket.inet_ntoa(struct.pack(">I", ADDRESS + number))

    def make_certificate(self):
        files = [self.folder / "certificate.pem", self.folder / "key.pem"]
        names = ",".join(f"DNS:{host.name}" for host in self.hosts)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=loopback.test",
             "-addext", f"subjectAltName={names}", "-out", files[0], "-keyout", files[1]],
            check=True, capture_output=True,
        )
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(*files)
        return files[0]

    def __enter__(self):
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self.open(), self.loop).result()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    async def open(self):
        await self.loop.create_datagram_endpoint(
            lambda: NameServer(self), local_addr=("127.0.0.1", 53)
        )
        self.watch_attempts()
        for host in self.hosts:
            await host.open()

    def watch_attempts(self):
        """Logs each attempt to connect to a host, even if nothing listens."""
        sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        program = b"".join(struct.pack("HBBI", *step) for step in SYN_FILTER)
        kept = ctypes.create_string_buffer(program)
        filtering = struct.pack("HP", len(SYN_FILTER), ctypes.addressof(kept))
        sniffer.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filtering)
        sniffer.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sniffer.setblocking(False)
        by_address = {socket.inet_aton(host.address): host.name for host in self.hosts}

        def read():
            packet, stamps, _, source = sniffer.recvmsg(64, 64)
            # On loopback each packet is captured twice, when it leaves and when it arrives.
            if source[2] != PACKET_OUTGOING and (name := by_address.get(packet[16:20])):
                seconds, nanoseconds = struct.unpack("ll", stamps[0][2])
                age = time.time_ns() - seconds * 10**9 - nanoseconds
                (port,) = struct.unpack_from(">H", packet, 4 * (packet[0] & 15) + 2)
                self.attempts.append((microseconds() - age // 1_000, name, port))

        self.loop.add_reader(sniffer, read)


def by_host(entries, place):
    """Groups a log's entries by the host in this field of each entry. Each group is sorted."""
    ordered = sorted(entries, key=lambda entry: (entry[place], entry))
    return {name: list(group) for name, group in itertools.groupby(ordered, lambda e: e[place])}
