# SPDX-License-Identifier: Apache-2.0
"""client.py http|dns|redis PORT|SOCKET: one request after the other; a line now and then."""
import socket
import sys

QUESTION = bytes.fromhex("001c1234000000010000000000000776657273696f6e0462696e640000100003")


def ask(kind, where):
    if kind == "redis":
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(60)
        s.connect(where)
    else:
        s = socket.create_connection(("127.0.0.1", int(where)), 60)
    with s:
        if kind == "http":
            s.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
            good = s.recv(12).startswith(b"HTTP/1")
        elif kind == "dns":
            s.sendall(QUESTION)
            good = len(s.recv(100)) > 12
        else:
            s.sendall(b"SET key " + b"x" * 5000 + b"\r\nGET key\r\n")
            good, got = True, b""
            while len(got) < 5012:
                more = s.recv(65536)
                if not more:
                    raise ConnectionError("cut off")
                got += more
            good = got.startswith(b"+OK\r\n$5000\r\nxxx")
    if not good:
        raise ValueError("a bad answer")


number = 0
while True:
    ask(sys.argv[1], sys.argv[2])
    number += 1
    if number % 10 == 0:
        print("on", flush=True)
