// SPDX-License-Identifier: Apache-2.0
/*
 * throws BOARD [THREADS]: threads that throw and catch C++ exceptions as fast
 * as they can. Each throw allocates, asks the loader where code is, and
 * unwinds.
 */
extern "C" {
#include "tests/target/victim.h"
}

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

struct witness {
	std::string text;
	unsigned int &ended;

	witness(unsigned int depth, unsigned int &counter)
		: text(40 + depth, (char)('a' + depth)), ended(counter)
	{
	}
	~witness()
	{
		ended++;
		for (char c : text)
			if (c != text[0])
				FOUND(corrupt);
	}
};

static void __attribute__((noinline)) fall(unsigned int depth, unsigned int &ended)
{
	witness w(depth, ended);

	if (depth == 0)
		throw std::runtime_error(std::string(60, 'x'));
	try {
		fall(depth - 1, ended);
	} catch (const std::logic_error &) {
		FOUND(failed);
	}
}

static void work(unsigned int id)
{
	for (unsigned int round = 0;; round++) {
		unsigned int ended = 0, depth = round % 12;

		try {
			fall(depth, ended);
			FOUND(failed);
		} catch (const std::runtime_error &e) {
			if (ended != depth + 1 || e.what() != std::string(60, 'x'))
				FOUND(corrupt);
		}
		for (volatile unsigned int i = 0; i < 20000; i = i + 1)
			; /* stay outside for a while, so that a stop then does not come too late */
		victim_beat(id);
	}
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 2 ? (unsigned int)strtoul(argv[2], nullptr, 10) : 1;

	if (argc < 2 || threads < 1 || threads > VICTIM_BEATS) {
		fprintf(stderr, "usage: throws BOARD [THREADS]\n");
		return 2;
	}
	victim_open(argv[1]);
	for (unsigned int i = 1; i < threads; i++)
		std::thread(work, i).detach();
	victim_ready(threads);
	work(0);
}
