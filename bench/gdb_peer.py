# SPDX-License-Identifier: Apache-2.0
"""The same by gdb, which cannot call a function on every kernel, and then says why."""
import subprocess

CALL = 'call (int)mallctl("prof.active", (void *)0, (void *)0, "\\001", 1)'


def gdb(pid, *commands):
    argv = ["gdb", "-nx", "-p", str(pid), "-batch"]
    for command in commands:
        argv += ["-ex", command]
    return argv


def why_not(pid):
    """Return gdb's message if it cannot make the call in this process; None if it can."""
    process = subprocess.run(gdb(pid, CALL), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if process.returncode == 0 and "\n$1 = 0" in process.stdout:
        return None
    said = (process.stderr.strip() or process.stdout.strip() or f"exit {process.returncode}").splitlines()
    return said[-1]
