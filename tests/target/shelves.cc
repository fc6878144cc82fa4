// SPDX-License-Identifier: Apache-2.0
/*
 * shelves BOARD: functions that keep a known amount of memory in C++ objects. LEAK n of keepers.c
 * (tests/sample.sh) allocates n MB (2^20 bytes) in each of them; FREE releases what they keep.
 *
 * jemalloc does not round the sizes of these blocks, so that a number of MB is exact.
 */
extern "C" {
#include "tests/target/victim.h"
}

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define MB ((uint64_t)1 << 20)
#define KEPT_MB 96 /* in each function */
enum { LEAK = 1, FREE = 12 };

#define SHELF static __attribute__((noinline, noclone)) void
#define SEEN(p) __asm__ volatile("" : : "r"(p) : "memory")

struct item { /* freed by the sized delete */
	std::array<char, 256> text;
};

struct alignas(128) line { /* by the aligned ones */
	std::array<char, 4096> text;
};

using numbers = std::vector<uint64_t>;

static std::vector<std::unique_ptr<item>> items;
static std::vector<std::unique_ptr<uint64_t[]>> arrays;
static std::vector<std::unique_ptr<line>> lines;
static std::vector<numbers> grown;
static std::vector<std::string> texts;
static std::map<uint64_t, std::array<char, 88>> tree; /* a node is 128 bytes */

SHELF keep_items(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += sizeof(item))
		items.push_back(std::make_unique<item>());
}

SHELF keep_arrays(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 4096)
		arrays.push_back(std::make_unique<uint64_t[]>(512));
}

SHELF keep_lines(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += sizeof(line))
		lines.push_back(std::make_unique<line>());
}

/* 8 bytes, 16, 32, ... up to 16 KiB, which stay. */
static void grow(numbers &v)
{
	for (uint64_t i = 0; i < 2048; i++)
		v.push_back(i);
}

SHELF keep_vectors(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 16 << 10) {
		grown.emplace_back();
		grow(grown.back());
	}
}

SHELF keep_strings(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 1024)
		texts.emplace_back(1023, 'x');
}

SHELF keep_nodes(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 128)
		tree[tree.size()][0] = 1;
}

SHELF churn_items(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += sizeof(item)) {
		item *p = new item;

		SEEN(p);
		delete p;
	}
}

SHELF churn_lines(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += sizeof(line)) {
		line *p = new line;

		SEEN(p);
		delete p;
	}
}

/* Twice as much in all, with the steps. */
SHELF churn_vectors(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 16 << 10) {
		numbers v;

		grow(v);
		SEEN(v.data());
	}
}

SHELF fill(uint64_t bytes)
{
	keep_items(bytes);
	keep_arrays(bytes);
	keep_lines(bytes);
	keep_vectors(bytes);
	keep_strings(bytes);
	keep_nodes(bytes);
	churn_items(bytes);
	churn_lines(bytes);
	churn_vectors(bytes);
}

/* Not the memory of these vectors, which would otherwise be among the samples. */
SHELF clear()
{
	items.clear();
	arrays.clear();
	lines.clear();
	grown.clear();
	texts.clear();
	tree.clear();
}

static void reserve()
{
	items.reserve(KEPT_MB * MB / sizeof(item));
	arrays.reserve(KEPT_MB * MB / 4096);
	lines.reserve(KEPT_MB * MB / sizeof(line));
	grown.reserve(KEPT_MB * MB / (16 << 10));
	texts.reserve(KEPT_MB * MB / 1024);
}

static void obey(uint64_t kind, uint64_t n)
{
	if (kind == LEAK)
		fill(n * MB);
	else if (kind == FREE)
		clear();
	else
		FOUND(failed);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: shelves BOARD\n");
		return 2;
	}
	victim_open(argv[1]);
	reserve();
	victim_ready(1);
	for (;;) {
		uint64_t order = __atomic_load_n(&board->reserved, __ATOMIC_SEQ_CST);

		if (order) {
			obey(order & 0xff, order >> 8);
			__atomic_store_n(&board->reserved, 0, __ATOMIC_SEQ_CST);
		}
		victim_nap(5);
		victim_beat(0);
	}
}
