// SPDX-License-Identifier: Apache-2.0
// parsed FILE: what google/pprof, the library that scrapers read profiles with, makes of one. Prints its types
// and how many samples and locations it has, or why it takes none of it.
package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

func main() {
	file, err := os.Open(os.Args[1])
	if err == nil {
		var p *profile.Profile
		if p, err = profile.Parse(file); err == nil {
			err = p.CheckValid()
		}
		if err == nil {
			for _, t := range p.SampleType {
				fmt.Printf("%s/%s ", t.Type, t.Unit)
			}
			fmt.Println(len(p.Sample), len(p.Location), p.DefaultSampleType, p.Period)
			return
		}
	}
	fmt.Println(err)
	os.Exit(1)
}
