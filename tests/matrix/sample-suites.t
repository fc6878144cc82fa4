#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample with the jemalloc and the C library of each of Debian's suites.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh

unset LD_LIBRARY_PATH

# suite NAME VERSION: what keepers keeps, and that it is as before afterwards
suite()
{
	enter_root "$1"
	build_for_root keepers -g -fno-optimize-sibling-calls
	start_keepers /mnt/keepers
	like "$("$CTL" list -o pid,version | awk -v p="$pid" '$1 == p { print $2 }')" "^$2" "$1: its version"
	start_sample "$1" "${rate[@]}" --save "$T/plain.heap" --force
	keep_each
	end_sample "$1"
	is_out "$1"
	sed -i "s|/[^ ]*/keepers\$|$T/keepers|" "$T/plain.heap" # as seen from here
	each_as_kept 32
	allocated grow_arrays 64 # all steps to it
	assert_untouched "$pid" "$1: untouched"
	# Threads that end while they are sampled.
	tell idle 16
	start_sample ends "${rate[@]}"
	tell leak 8
	tell end
	end_sample ends
	tell threads 64
	tell idle 32
	tell end
	run_ctl get "$pid" epoch
	is "$status" 0 "$1: jemalloc goes through its lists" || diag "$err"
	stop_target "$pid"
	wrap=()
}

suite bullseye '5\.2\.1'
# Its jemalloc has no event for sites.
enter_root bullseye
start_victim /mnt/keepers
snapshot "$pid"
ctl_fails 1 'no_allocation_event sample_instead' 'bullseye: sites is refused' sites "$pid" -d 1s
assert_untouched "$pid" 'bullseye: refused: untouched'
stop_target "$pid"
wrap=()

suite trixie '5\.3\.0'
suite sid '5\.3\.1'
done_testing
