#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The most that an injection adds to a target, with the jemalloc of each Debian suite: nothing in a
# borrowed thread that has its data, and in a thread of our own no more than we say is needed.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# kib KEY: print a value of the target's status
kib()
{
	awk -v key="$1:" '$1 == key { print $2 }' "/proc/$pid/status"
}

# needed COMMAND...: print the address space that is reported as needed, in KiB
needed()
{
	prlimit --pid "$pid" --as=1000000:
	run_ctl "$@"
	prlimit --pid "$pid" --as=unlimited:
	sed -nE 's/.*up to ([0-9.]+)M may be needed.*/\1/p' <<<"$err" | awk '{ print int($1 * 1024) }'
}

# adds NAME MODE COMMAND [ARGUMENTS...]: run it on a new target; set `more` to the KiB that it adds
adds()
{
	local name=$1 mode=$2 before command=$3

	shift 3
	start_victim "$folder/cramped" 2
	snapshot "$pid"
	before=$(kib VmSize)
	is "$(kib VmPeak)" "$before" "$name: control: its peak size is its current size"
	ctl_ok "$name" "$command" "$pid" --mode "$mode" "$@"
	more=$(($(kib VmPeak) - before))
	assert_untouched "$pid" "$name: untouched"
	if [ "$mode" = thread ]; then
		most=$(needed "$command" "$pid" --mode "$mode" "$@")
		ok "$name: adds $more KiB, and $most are asked for" test "$more" -gt 0 -a "$more" -le "$most"
	else
		is "$more" 0 "$name: adds nothing"
	fi
	stop_target "$pid"
	rows+=("| $name | $more | ${most:--} |")
}

rows=()
version()
{
	local background most

	for background in false true; do
		export MALLOC_CONF=prof:true,prof_active:false,background_thread:$background
		most=
		adds "$1, background_thread:$background, inline: status" inline status
		adds "$1, background_thread:$background, thread: status" thread status
		adds "$1, background_thread:$background, thread: stats" thread stats
		adds "$1, background_thread:$background, thread: dump" thread dump --force -o "$T/x.heap"
	done
}

folder=$VICTIMS
version 5.3.0
folder=/mnt
for suite in trixie sid bullseye; do
	enter_root "$suite"
	build_for_root cramped
	version "$suite"
done
diag '| what | KiB added | KiB asked for |'
diag '|---|---|---|'
for row in "${rows[@]}"; do
	diag "$row"
done
done_testing
