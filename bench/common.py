# SPDX-License-Identifier: Apache-2.0
"""Shared by several benchmarks: processes with jemalloc, and waiting for started processes."""
import os
import shutil
import subprocess
import sys
import time

LIBRARY = "libjemalloc.so.2"


def where(library):
    paths = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return next(line.split("=> ")[1] for line in paths.splitlines() if library in line)


def own_files(folder):
    """Return arguments and environment of a program with jemalloc, copied to a new folder."""
    os.mkdir(folder)
    for file in (shutil.which("sleep"), where(LIBRARY), where("libc.so.6")):
        shutil.copy(file, folder)
    return [f"{folder}/sleep", "10000"], {"LD_PRELOAD": f"{folder}/{LIBRARY}",
                                          "LD_LIBRARY_PATH": folder}


def wait_for(condition, what):
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what} did not start")
        time.sleep(0.01)


def has(path, text):
    return os.path.exists(path) and text in open(path, encoding="utf-8", errors="replace").read()
