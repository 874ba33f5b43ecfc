#!/usr/bin/env python3
"""Forwards DNS queries over UDP and TCP: relay.py FROM:PORT TO:PORT NAMES OWN...

Writes each queried name to the file NAMES. This is necessary because the small internet's name
server listens only on loopback, but the machines query it from outside. The names OWN resolve to
FROM.
"""
import socket
import socketserver
import sys
import threading


def place(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


SERVER = place(sys.argv[2])
NAMES = open(sys.argv[3], "a", encoding="utf-8", buffering=1)
OWN = set(sys.argv[4:])


def own_answer(query):
    """Returns the answer for one of the names OWN: its address, or nothing for types other than A.
    """
    end = query.index(b"\0", 12) + 5
    is_address = query[end - 4:end] == b"\0\1\0\1"
    address = socket.inet_aton(place(sys.argv[1])[0])
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + address if is_address else b""
    head = query[:2] + b"\x81\x80\0\1\0" + bytes([is_address]) + b"\0\0\0\0"
    return head + query[12:end] + record


def note(query):
    """Records the name in a query's first question, and returns it. Unbound mixes upper and lower
    case."""
    labels, at = [], 12
    while at < len(query) and query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("ascii", "replace").lower())
        at += 1 + query[at]
    name = ".".join(labels)
    NAMES.write(name + "\n")
    return name


class OverUdp(socketserver.BaseRequestHandler):
    def handle(self):
        question, back = self.request
        if note(question) in OWN:
            back.sendto(own_answer(question), self.client_address)
            return
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.settimeout(5)
            out.sendto(question, SERVER)
            try:
                back.sendto(out.recv(65535), self.client_address)
            except TimeoutError:
                # The small internet deliberately leaves some queries unanswered.
                pass


class OverTcp(socketserver.StreamRequestHandler):
    def handle(self):
        with socket.create_connection(SERVER, 5) as out:
            while length := self.rfile.read(2):
                query = self.rfile.read(int.from_bytes(length, "big"))
                note(query)
                out.sendall(length + query)
                answers = out.makefile("rb")
                length = answers.read(2)
                self.wfile.write(length + answers.read(int.from_bytes(length, "big")))


class Udp(socketserver.ThreadingUDPServer):
    allow_reuse_address = True
    max_packet_size = 65535


class Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True


threading.Thread(target=Tcp(place(sys.argv[1]), OverTcp).serve_forever, daemon=True).start()
Udp(place(sys.argv[1]), OverUdp).serve_forever()
