# SPDX-License-Identifier: Apache-2.0
"""Threads that allocate and know what they hold; a line on standard output now and then."""
import hashlib
import sys
import threading
import time

failed = []


def work(number):
    try:
        kept = {}
        for i in range(1 << 62):
            data = bytes([number]) * (i * 7919 % 50000 + 1)
            kept[i % 200] = (data, hashlib.md5(data).digest())
            old, digest = kept.get((i + 1) % 200, kept[i % 200])
            if hashlib.md5(old).digest() != digest:
                raise ValueError("memory changed")
            time.sleep(0.0005)
    except BaseException as e:
        failed.append(e)
        raise


for n in range(4):
    threading.Thread(target=work, args=(n,), daemon=True).start()
while not failed:
    began = time.monotonic()
    time.sleep(0.05)
    if time.monotonic() - began < 0.05:
        raise RuntimeError("woke up early")
    print("on", flush=True)
sys.exit(1)
