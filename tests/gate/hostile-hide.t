#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process that shows other contents of a file than the file has: it does not hide the jemalloc of
# any other process, neither from list nor from watch, and gets no breakpoint where none belongs.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

library=$T/lib/libjemalloc.so.2
[ -e "$library" ] || library=/usr/lib/$(cc -print-multiarch)/libjemalloc.so.2
install -m 755 "$B/tests/careless/jeprof-ctl-trusting" "$T/trusting"

# start_hider WHO HOW: start a process that maps the library as code, but shows it without an ELF
# header (clear), or only its first page (page). Sets `hider`.
start_hider()
{
	case $1 in
	root-without-capabilities) wrap=(setpriv --bounding-set=-all --inh-caps=-all) ;;
	root-of-a-namespace) wrap=(setpriv --reuid=65534 --clear-groups unshare -Ur) ;;
	nobody) wrap=(setpriv --reuid=65534 --clear-groups) ;;
	esac
	"${wrap[@]}" /usr/bin/python3 - "$library" "$2" >"$T/hides" <<-'PYTHON' &
		import mmap, os, sys, time
		page = sys.argv[2] == "page"
		kept = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 4096 if page else 0, mmap.MAP_PRIVATE,
		                 mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
		if not page:
		    kept[:64] = bytes(64)
		print("hidden", flush=True)
		time.sleep(1000)
	PYTHON
	hider=$!
	own "$hider"
	within 60 grep -q hidden "$T/hides" || bail_out "nothing maps $library"
	wrap=()
}

# linkage PROGRAM: print the linkage of `pid` in its list
linkage()
{
	TRUSTING=memory timeout 60 "$1" list --json 2>/dev/null | jq -r --argjson p "$pid" '.[] | select(.pid == $p) | .linkage'
}

# watched NAME PROGRAM: dump `pid` once. Sets `dumps`, the number of dumps that its watch sees.
watched()
{
	local ctl=$CTL

	CTL=$2
	TRUSTING=memory start_watch "$1" --all
	CTL=$ctl
	order "$pid" dump "$T/$1.heap"
	end_watch "$1"
	dumps=$(seen "$1" "select(.pid == $pid)" | wc -l)
}

export MALLOC_CONF=$PROF
for who in root-without-capabilities root-of-a-namespace nobody; do
	for how in clear page; do
		# The hider must be inspected first, and so have the smaller pid: not the case if
		# pids have just wrapped around.
		while :; do
			start_hider "$who" "$how"
			wrap=(setpriv --reuid=1000 --regid=1000 --clear-groups)
			start_dumper dumper
			wrap=()
			[ "$hider" -gt "$pid" ] || break
			stop_target "$pid"
			stop_target "$hider"
		done
		snapshot "$pid"
		is "$(linkage "$CTL")" shared "$who, $how: list shows the other process"
		is "$(linkage "$T/trusting")" '' "$who, $how: control: not if the hider is trusted"
		watched "$who-$how" "$CTL"
		is "$dumps" 1 "$who, $how: watch sees its dump"
		watched "$who-$how-trusting" "$T/trusting"
		is "$dumps" 0 "$who, $how: control: not if the hider is trusted"
		assert_untouched "$pid" "$who, $how: untouched"
		stop_target "$pid"
		stop_target "$hider"
	done
done

done_testing
