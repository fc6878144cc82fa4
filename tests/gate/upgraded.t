#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process whose libraries were upgraded while it runs: their files are deleted, and others have
# their names. Users without capabilities read the libraries from the memory of the process.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

user=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:10
export MALLOC_CONF

libs=$T/lib
mkdir "$libs"
chmod 755 "$T" "$libs"

# upgrade NAME: replace every library of `pid` below $libs by renaming, as a package manager does
upgrade()
{
	local lib

	for lib in "$libs"/*.so*; do
		cp "$VICTIMS/libliar.so" "$lib.new"
		mv "$lib.new" "$lib"
	done
	is "$(grep -c "r-xp .*$libs/.* (deleted)" "/proc/$pid/maps")" "$(find "$libs" -name '*.so*' | wc -l)" \
		"$1: the code of every library is deleted"
	snapshot "$pid"
}

# libraries_of PROGRAM: copy the libraries that it is linked with, except its loader
libraries_of()
{
	rm -f "$libs"/*
	ldd "$1" | awk '$2 == "=>" { print $3 }' | while read -r lib; do
		cp -L "$lib" "$libs/"
	done
}

# works NAME: test the main commands on the process, run through `runner`
works()
{
	run_ctl list --json
	is "$(jq -r --argjson p "$pid" '.. | objects | select(.pid? == $p) | .linkage' "$T/out")" shared "$1: list"
	run_ctl check "$pid" --json
	is "$status" 0 "$1: check" || diag "$out$err"
	out=$(jq -r '.checks[] | select(.name == "jemalloc") | .detail' "$T/out")
	if [ "${#runner[@]}" -gt 0 ]; then
		like "$out" 'libjemalloc.* \(deleted\), symbols from memory' "$1: check says where"
	else
		like "$out" 'libjemalloc.* \(deleted\)$' "$1: check says that the file is deleted"
	fi
	ctl_ok "$1: status" status "$pid" --json
	like "$(jq -r .version "$T/out")" '^5\.[23]\.[0-9]' "$1: its version"
	ctl_ok "$1: activate" activate "$pid"
	sleep 0.5
	ctl_ok "$1: dump" dump "$pid" -o "$out_dir/old.heap"
	ok "$1: is a profile" is_profile "$out_dir/old.heap"
	ctl_ok "$1: report" report "$out_dir/old.heap"
	ctl_ok "$1: deactivate" deactivate "$pid"
	assert_untouched "$pid" "$1: untouched"
}

out_dir=$T/out.d
install -d -m 777 "$out_dir"

wrap=("${user[@]}" env LD_LIBRARY_PATH="$libs")
libraries_of "$VICTIMS/idle"
start_victim idle
upgrade 'a victim'
libraries_of "$(command -v redis-server)"
victim=$pid
start_redis
upgrade redis
server=$pid
wrap=()

runner=("${user[@]}")
code=$(awk '/r-xp .*libjemalloc/ { print $1; exit }' "/proc/$victim/maps" | sed 's/^0*//; s/-0*/-/')
"${user[@]}" head -c 4 "/proc/$victim/map_files/$code" >/dev/null 2>"$T/err"
like "$(<"$T/err")" 'not permitted' 'control: a user may not open what is mapped'
pid=$victim
works 'a user'
is "$(stat -c %u "$out_dir/old.heap")" 65534 'a user: owns the profile'
rm "$out_dir/old.heap"
pid=$server
load_redis 2000
works 'a user, redis'
rm "$out_dir/old.heap"

# Root can access the files themselves, and what is only in files.
runner=()
pid=$victim
works root

done_testing
