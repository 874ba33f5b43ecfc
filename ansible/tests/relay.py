#!/usr/bin/env python3
"""Forwards DNS queries over UDP and TCP: relay.py FROM:PORT TO:PORT

The small internet's name server listens on loopback only; the machines query it from outside."""
import socket
import socketserver
import sys
import threading


def place(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


SERVER = place(sys.argv[2])


class OverUdp(socketserver.BaseRequestHandler):
    def handle(self):
        question, back = self.request
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.settimeout(5)
            out.sendto(question, SERVER)
            try:
                back.sendto(out.recv(65535), self.client_address)
            except TimeoutError:
                # The small internet leaves some queries unanswered on purpose.
                pass


class OverTcp(socketserver.StreamRequestHandler):
    def handle(self):
        with socket.create_connection(SERVER, 5) as out:
            while length := self.rfile.read(2):
                out.sendall(length + self.rfile.read(int.from_bytes(length, "big")))
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
