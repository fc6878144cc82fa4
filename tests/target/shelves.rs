// SPDX-License-Identifier: Apache-2.0
//! shelves fd:3: functions that keep a known amount of memory in Rust's collections, and obey a
//! board (victim.h) like shelves.cc: LEAK n allocates n MB in each of them, FREE releases it.
//!
//! jemalloc does not round the sizes of these blocks, so that a number of MB is exact.

use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;

const MB: usize = 1 << 20;
const KEPT_MB: usize = 96; // in each function
const LEAK: u64 = 1;
const FREE: u64 = 12;

// Words of the board.
const READY: u64 = 0;
const THREADS: u64 = 1;
const FAILED: u64 = 5;
const ORDER: u64 = 7;
const BEAT: u64 = 8;
const WORDS: u64 = 8 + 64;

struct Board(File);

impl Board {
    fn get(&self, word: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, 8 * word).unwrap();
        u64::from_le_bytes(bytes)
    }
    fn set(&self, word: u64, value: u64) {
        self.0.write_all_at(&value.to_le_bytes(), 8 * word).unwrap();
    }
}

#[repr(align(128))]
struct Line {
    _text: [u8; 4096],
}

#[derive(Default)]
struct Shelves {
    boxes: Vec<Box<[u64; 32]>>,
    zeroed: Vec<Vec<u8>>,
    lines: Vec<Box<Line>>,
    grown: Vec<Vec<u64>>,
    texts: Vec<String>,
    queues: Vec<VecDeque<u64>>,
}

// 32 bytes, 64, ... up to 16 KiB.
#[inline(always)]
fn grow() -> Vec<u64> {
    let mut v = Vec::new();
    for i in 0..2048 {
        v.push(std::hint::black_box(i));
    }
    v
}

impl Shelves {
    fn new() -> Self {
        Shelves {
            boxes: Vec::with_capacity(KEPT_MB * MB / 256),
            zeroed: Vec::with_capacity(KEPT_MB * MB / 8192),
            lines: Vec::with_capacity(KEPT_MB * MB / 4096),
            grown: Vec::with_capacity(KEPT_MB * MB / 16384),
            texts: Vec::with_capacity(KEPT_MB * MB / 1024),
            queues: Vec::with_capacity(KEPT_MB * MB / 2048),
        }
    }
    #[inline(never)]
    fn keep_boxes(&mut self, bytes: usize) {
        for i in 0..bytes / 256 {
            self.boxes.push(Box::new([i as u64; 32]));
        }
    }
    // By calloc(3).
    #[inline(never)]
    fn keep_zeroed(&mut self, bytes: usize) {
        for _ in 0..bytes / 8192 {
            self.zeroed.push(vec![0; 8192]);
        }
    }
    // By posix_memalign(3).
    #[inline(never)]
    fn keep_lines(&mut self, bytes: usize) {
        for i in 0..bytes / 4096 {
            self.lines.push(Box::new(Line { _text: [i as u8; 4096] }));
        }
    }
    // By realloc(3).
    #[inline(never)]
    fn keep_vectors(&mut self, bytes: usize) {
        for _ in 0..bytes / 16384 {
            self.grown.push(grow());
        }
    }
    #[inline(never)]
    fn keep_strings(&mut self, bytes: usize) {
        for _ in 0..bytes / 1024 {
            self.texts.push("x".repeat(1024));
        }
    }
    #[inline(never)]
    fn keep_queues(&mut self, bytes: usize) {
        for i in 0..bytes / 2048 {
            let mut q = VecDeque::with_capacity(256);
            q.push_back(i as u64);
            self.queues.push(q);
        }
    }
    #[inline(never)]
    fn churn_boxes(&self, bytes: usize) {
        for i in 0..bytes / 256 {
            drop(std::hint::black_box(Box::new([i as u64; 32])));
        }
    }
    #[inline(never)]
    fn churn_lines(&self, bytes: usize) {
        for i in 0..bytes / 4096 {
            drop(std::hint::black_box(Box::new(Line { _text: [i as u8; 4096] })));
        }
    }
    // Twice as much in all, with the steps.
    #[inline(never)]
    fn churn_vectors(&self, bytes: usize) {
        for _ in 0..bytes / 16384 {
            drop(std::hint::black_box(grow()));
        }
    }
    fn fill(&mut self, bytes: usize) {
        self.keep_boxes(bytes);
        self.keep_zeroed(bytes);
        self.keep_lines(bytes);
        self.keep_vectors(bytes);
        self.keep_strings(bytes);
        self.keep_queues(bytes);
        self.churn_boxes(bytes);
        self.churn_lines(bytes);
        self.churn_vectors(bytes);
    }
    // Not the memory of these vectors, which would otherwise be among the samples.
    fn clear(&mut self) {
        self.boxes.clear();
        self.zeroed.clear();
        self.lines.clear();
        self.grown.clear();
        self.texts.clear();
        self.queues.clear();
    }
}

fn main() {
    // The board is inherited as descriptor 3.
    let board = Board(unsafe { File::from_raw_fd(3) });
    let mut shelves = Shelves::new();
    board.0.set_len(8 * WORDS).unwrap();
    board.set(THREADS, 1);
    board.set(READY, std::process::id().into());
    loop {
        let order = board.get(ORDER);
        match order & 0xff {
            0 => (),
            LEAK => shelves.fill((order >> 8) as usize * MB),
            FREE => shelves.clear(),
            _ => board.set(FAILED, 1),
        }
        if order != 0 {
            board.set(ORDER, 0);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
        board.set(BEAT, board.get(BEAT) + 1);
    }
}
