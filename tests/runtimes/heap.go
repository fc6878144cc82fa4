// SPDX-License-Identifier: Apache-2.0

// A Go program that writes its own heap profile to the file it is given, the same as text to that
// with ".txt" behind, and a profile of its time with ".cpu".
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte
var small []*[16]int

//go:noinline
func hold(n int) { kept = append(kept, make([]byte, n)) }

//go:noinline
func holdSmall() { small = append(small, new([16]int)) }

func create(path string) *os.File {
	f, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	return f
}

func main() {
	runtime.MemProfileRate = 4096
	for i := 0; i < 300; i++ {
		hold(100000)
	}
	for i := 0; i < 100000; i++ {
		holdSmall()
	}
	runtime.GC()
	f := create(os.Args[1])
	if err := pprof.WriteHeapProfile(f); err != nil {
		panic(err)
	}
	f.Close()
	f = create(os.Args[1] + ".txt")
	if err := pprof.Lookup("heap").WriteTo(f, 1); err != nil {
		panic(err)
	}
	f.Close()
	f = create(os.Args[1] + ".cpu")
	if err := pprof.StartCPUProfile(f); err != nil {
		panic(err)
	}
	pprof.StopCPUProfile()
	f.Close()
}
