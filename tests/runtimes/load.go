// SPDX-License-Identifier: Apache-2.0

// A Go program that calls into C, and whose C side allocates: goroutines that move blocks
// between them, whose contents they know. Prints a line now and then; ends with 1 at a mistake.
package main

/*
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *block(size_t size, int with)
{
	void *p = malloc(size);

	return p ? memset(p, with, size) : NULL;
}

static int is_whole(const unsigned char *p, size_t size, int with)
{
	for (size_t i = 0; i < size; i++)
		if (p[i] != with)
			return 0;
	return 1;
}

static void nap(void)
{
	usleep(1000);
}
*/
import "C"

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"
)

type block struct {
	at   unsafe.Pointer
	size C.size_t
	with C.int
}

func produce(seed uint32, out chan<- block) {
	for {
		seed = seed*1664525 + 1013904223
		b := block{size: C.size_t(16 + seed>>8%8192), with: C.int(seed >> 24)}
		if b.at = C.block(b.size, b.with); b.at == nil {
			fmt.Fprintln(os.Stderr, "no memory")
			os.Exit(1)
		}
		out <- b
	}
}

func consume(in <-chan block, done *uint64) {
	for b := range in {
		if C.is_whole((*C.uchar)(b.at), b.size, b.with) == 0 {
			fmt.Fprintln(os.Stderr, "a block was changed")
			os.Exit(1)
		}
		C.free(b.at)
		atomic.AddUint64(done, 1)
		C.nap()
	}
}

func main() {
	var done uint64
	blocks := make(chan block, 64)
	for i := uint32(0); i < 4; i++ {
		go produce(i, blocks)
		go consume(blocks, &done)
	}
	for last := uint64(0); ; {
		time.Sleep(50 * time.Millisecond)
		if now := atomic.LoadUint64(&done); now != last {
			fmt.Println(now)
			last = now
		}
	}
}
