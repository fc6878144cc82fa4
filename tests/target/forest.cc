// SPDX-License-Identifier: Apache-2.0
/*
 * forest BASE END [new]: allocates in many ways through C++ of all kinds, and writes two heap
 * profiles of itself. For tests of the handling of names: overloads, templates, lambdas, inlined
 * calls, recursion, functions with the same name. Each call is on its own line. There are no
 * loops, as addr2line(1) prints more than the line number for their lines. With a third argument
 * it uses operator new as well.
 */
#include <cstdio>
#include <cstdlib>
#include <jemalloc/jemalloc.h>
#include <pthread.h>

#define OUT_OF_LINE __attribute__((noinline))
#define INLINED inline __attribute__((always_inline))

static unsigned long long state = 88172645463325252ULL;
static void *volatile sink;
static unsigned int ways = 8;

static unsigned int chance(unsigned int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state >> 32) % n;
}

static INLINED void keep(size_t size)
{
	void *p = malloc(size);

	sink = p;
}

namespace oak {

struct leaf {
	char bytes[200];
};

OUT_OF_LINE void grow(int n)
{
	keep(64 + (size_t)n);
	asm volatile("");
}

OUT_OF_LINE void grow(double n)
{
	keep(700 + (size_t)n);
	asm volatile("");
}

template <typename T> struct pair {
	T a, b;
};

template <typename T> OUT_OF_LINE void branch(const pair<T> &v)
{
	sink = malloc(sizeof(v) * 20);
	grow(4);
	asm volatile("");
}

class tree {
public:
	OUT_OF_LINE const leaf *find(int depth) const
	{
		if (depth <= 0)
			return last();
		const leaf *found = find(depth - 1);
		asm volatile("");
		return found;
	}

	OUT_OF_LINE const leaf *last() const
	{
		const leaf *l = (const leaf *)malloc(sizeof(leaf));
		sink = (void *)l;
		asm volatile("");
		return l;
	}

	OUT_OF_LINE void operator()(size_t n)
	{
		sink = calloc(n + 1, 48);
		asm volatile("");
	}
};

} // namespace oak

namespace {

OUT_OF_LINE void help(size_t n)
{
	sink = malloc(n);
	asm volatile("");
}

} // namespace

namespace elm {

static OUT_OF_LINE void help(size_t n)
{
	sink = malloc(n * 3);
	asm volatile("");
}

OUT_OF_LINE void twice(size_t n)
{
	help(n);
	::help(n);
	asm volatile("");
}

} // namespace elm

static OUT_OF_LINE void walk(unsigned int way)
{
	oak::tree tree;

	switch (way) {
	case 0:
		oak::grow(5);
		break;
	case 1:
		oak::grow(5.5);
		break;
	case 2:
		oak::branch(oak::pair<int>());
		break;
	case 3:
		oak::branch(oak::pair<oak::leaf>());
		break;
	case 4:
		tree.find(4);
		break;
	case 5:
		tree(chance(40));
		break;
	case 6:
		elm::twice(100);
		break;
	case 7:
		keep(3000);
		break;
	default:
		sink = new oak::tree[512];
		break;
	}
	asm volatile("");
}

static OUT_OF_LINE void many(int n)
{
	if (n > 1) {
		many(n / 2);
		many(n - n / 2);
		return;
	}
	walk(chance(ways));
	asm volatile("");
}

static OUT_OF_LINE void dump(const char *file)
{
	if (mallctl("prof.dump", nullptr, nullptr, &file, sizeof(file)))
		exit(1);
}

static OUT_OF_LINE void *work(void *)
{
	many(4000);
	return nullptr;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc < 3)
		return 2;
	if (argc > 3)
		ways = 9;
	many(3000);
	dump(argv[1]);
	if (pthread_create(&other, nullptr, work, nullptr) || pthread_join(other, nullptr))
		return 1;
	many(2000);
	dump(argv[2]);
	return 0;
}
