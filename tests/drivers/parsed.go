// SPDX-License-Identifier: Apache-2.0
// parsed FILE: parses it with google/pprof, the library that scrapers use. Prints its types and the
// number of samples and locations, or why it is rejected.
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
