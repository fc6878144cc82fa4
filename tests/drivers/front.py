#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
front.py: replaces the front by a compromised one. It sends what commands from the fifo COMMANDS, in
its folder, tell it to, and writes each message that it receives as a line to HEARD:

  ask OP PID [name=value]...      for the last connection, or connection=N; subject=HEX
  fd                              send a memory file along with the next message
  raw HEX                         any bytes
  short                           a message that is too short
  kind N                          a message of another kind
  mute                            close the sending side, and go on
  deaf                            close the receiving side, and go on
  exit N                          exit

The structures are those of wire/wire.h.
"""
import array
import os
import select
import socket
import struct
import sys

here = os.path.dirname(os.path.abspath(sys.argv[0]))
TO_BROKER = struct.Struct("=IIQQIIIiQiIIIQQQ32s32s")
TO_FRONT = struct.Struct("=IIQIIQIIQQIIQII96s")
OPS = ("none list metrics discover check status explain stats threads dump symbols cmdline "
       "activate deactivate reset record sample runs run run_profile run_stop "
       "run_delete events mesos_start mesos_stop mesos_state mesos_download mtev_state "
       "tikv_list").split()
FORMATS = "json text prom openmetrics heap pprof folded speedscope html svg ndjson".split()
KINDS = {"ready": 1, "ask": 2, "cancel": 3, "closed": 4, "loaded": 5}
sock = socket.socket(fileno=3)
heard = open(os.path.join(here, "HEARD"), "a", buffering=1)
clients = []
connection = 0
ids = 0
with_fd = deaf = False


def message(kind, **given):
    v = dict(version=1, connection=connection, id=0, op=0, flags=0, format=0, pid=0,
             start_time=0, lg_sample=0, seconds=0, duration_ms=0, words=0, run=0, base=0, since=0, subject=b"")
    v.update(given)
    return TO_BROKER.pack(v["version"], kind, v["connection"], v["id"], v["op"], v["flags"],
                          v["format"], v["pid"], v["start_time"], v["lg_sample"], v["seconds"],
                          v["duration_ms"], v["words"], v["run"], v["base"],
                          v["since"], b"", v["subject"])


def send(data):
    global with_fd
    fds = [os.memfd_create("addresses", os.MFD_ALLOW_SEALING)] if with_fd else []
    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    try:
        sock.sendmsg([data], control)
    except OSError as e:
        print("unsent", e.errno, file=heard)
    for fd in fds:
        os.close(fd)
    with_fd = False


def obey(line):
    global deaf, ids, with_fd
    words = line.split()
    given = {k: bytes.fromhex(v) if k == "subject" else int(v, 0)
             for k, v in (w.split("=") for w in words if "=" in w)}
    words = [w for w in words if "=" not in w]
    if words[0] == "ask":
        ids += 1
        given.setdefault("id", ids)
        op = OPS.index(words[1]) if words[1] in OPS else int(words[1])
        send(message(KINDS["ask"], op=op, pid=int(words[2]), **given))
    elif words[0] in KINDS:
        send(message(KINDS[words[0]], **given))
    elif words[0] == "kind":
        send(message(int(words[1]), **given))
    elif words[0] == "raw":
        send(bytes.fromhex(words[1]))
    elif words[0] == "short":
        send(message(KINDS["ask"])[:-1])
    elif words[0] == "fd":
        with_fd = True
    elif words[0] == "mute":
        sock.shutdown(socket.SHUT_WR)
    elif words[0] == "deaf":
        sock.shutdown(socket.SHUT_RD)
        deaf = True
        print("deaf", file=heard)
    elif words[0] == "exit":
        os._exit(int(words[1]))
    else:
        print("what?", line, file=heard)


def hear():
    global connection
    data, fds, _, _ = socket.recv_fds(sock, TO_FRONT.size + 1, 4)
    if not data:
        print("end", file=heard)
        sys.exit(0)
    (_, kind, number, transport, refusal, id_, code, form, size, pause, stops, reason,
     run, role, _, name) = TO_FRONT.unpack(data)
    if kind == 1:
        connection = number
        clients.extend(fds)
        print("connection", number, "transport", transport, "fds", len(fds), file=heard)
        return
    if kind == 4:
        print("credentials fds", len(fds), file=heard)
        for fd in fds:
            os.close(fd)
        send(message(KINDS["loaded"]))
        send(message(KINDS["ready"]))
        return
    if kind == 3:
        print("finish", file=heard)
        sys.exit(0)
    body = b""
    for fd in fds:
        body += os.pread(fd, 1 << 20, 0)
        try:
            os.pwrite(fd, b"x", 0)
            print("writable", file=heard)
        except OSError:
            pass
        os.close(fd)
    print("answer", id_, "refusal", refusal, "code", code, "format", FORMATS[form], "bytes", size,
          "stops", stops, "reason", reason, "run", run, "name", name.rstrip(b"\0").decode(), "body",
          body[:160].decode(errors="replace").replace("\n", "\\n"), file=heard)


commands = os.open(os.path.join(here, "COMMANDS"), os.O_RDWR | os.O_NONBLOCK)
print("began", file=heard)  # first, as tests count those that began once one is ready
if not os.path.exists(os.path.join(here, "UNREADY")) and "--tls" not in sys.argv:
    send(message(KINDS["ready"]))
rest = b""
while True:
    for fd in select.select([commands] if deaf else [3, commands], [], [])[0]:
        if fd == 3:
            hear()
            continue
        rest += os.read(commands, 65536)
        *lines, rest = rest.split(b"\n")
        for line in lines:
            obey(line.decode())
