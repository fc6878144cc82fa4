# SPDX-License-Identifier: Apache-2.0
"""Has a victim recovered? For tests that kill jeprof-ctl or make it fail."""
import os
import time

PATIENCE = 30.0


def field(path, name):
    with open(path, encoding="latin-1") as f:
        for line in f:
            if line.startswith(name + ":"):
                return line.split()[1]
    return ""


def threads(pid):
    out = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        path = f"/proc/{pid}/task/{tid}/status"
        try:
            out[tid] = (field(path, "State"), int(field(path, "TracerPid")), field(path, "SigBlk"))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return out


def board(path):
    with open(path, "rb") as f:
        words = memoryview(f.read()).cast("Q")
    return {"ready": words[0], "eintr": words[2], "corrupt": words[3], "altstack": words[4], "failed": words[5],
            "beats": list(words[8:8 + words[1]])}


def mended(pid, before):
    """Return None if the victim is in its former state, or the difference."""
    if not os.path.exists(f"/proc/{pid}"):
        return "the victim is gone"
    now = threads(pid)
    if now.get(str(pid), ("",))[0] == "Z":
        return "the victim is gone"
    if set(now) != set(before):
        return f"threads were {sorted(before)}, are {sorted(now)}"
    for tid, (state, tracer, blocked) in now.items():
        if state not in "RSD" or tracer or blocked != before[tid][2]:
            return f"thread {tid}: state {state}, tracer {tracer}, blocked {blocked}"
    return None


def wait_mended(pid, path, before, beats):
    deadline = time.monotonic() + PATIENCE
    while True:
        wrong = mended(pid, before)
        if wrong == "the victim is gone":
            return wrong
        seen = board(path)
        for what in ("eintr", "corrupt", "altstack", "failed"):
            if seen[what]:
                return f"the victim counted {seen[what]} times '{what}'"
        stuck = [i for i, n in enumerate(seen["beats"]) if n <= beats[i]]
        if not wrong and not stuck:
            return None
        if time.monotonic() > deadline:
            return wrong or f"threads {stuck} do not go on"
        time.sleep(0.002)
