# SPDX-License-Identifier: Apache-2.0
"""shelves fd:3: keep and drop known amounts of memory, and obey a board (victim.h) like shelves.cc.

LEAK n keeps n MB (2^20 bytes), in objects of 4 KiB, and drops as much at once; FREE drops all. With
PYTHONMALLOC=malloc, each object is a block of the C library's malloc, or of jemalloc.
"""
import os
import struct
import time

BOARD = 3
MB = 1 << 20
LEAK, FREE = 1, 12
READY, THREADS, FAILED, ORDER, BEAT, WORDS = 0, 1, 5, 7, 8, 8 + 64  # words of the board
HEADER = 33  # of an object of bytes
KEPT_MAX = 96 * MB // 4096


def get(word):
    return struct.unpack("<Q", os.pread(BOARD, 8, 8 * word))[0]


def put(word, value):
    os.pwrite(BOARD, struct.pack("<Q", value), 8 * word)


def main():
    kept, used, beats = [None] * KEPT_MAX, 0, 0
    os.ftruncate(BOARD, 8 * WORDS)
    put(THREADS, 1)
    put(READY, os.getpid())
    while True:
        order = get(ORDER)
        if order & 0xFF == LEAK:
            for _ in range((order >> 8) * MB // 4096):
                kept[used] = bytes(4096 - HEADER)
                used += 1
            for _ in range((order >> 8) * MB // 4096):
                bytes(4096 - HEADER)
        elif order & 0xFF == FREE:
            for i in range(used):
                kept[i] = None
            used = 0
        elif order:
            put(FAILED, 1)
        if order:
            put(ORDER, 0)
        time.sleep(0.005)
        beats += 1
        put(BEAT, beats)


main()
