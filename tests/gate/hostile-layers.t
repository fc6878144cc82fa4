#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A file on an overlayfs is probed only if root mounted that, and the layer is on a disk or in
# memory. Any user may mount one over his own file system (FUSE), and the server of the page that a
# probe is written to decides how long every fork(2) on the machine waits.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
WATCH_ALONE=1
# shellcheck source=tests/watching.sh
. tests/watching.sh

mknod -m 666 "$T/fuse" c 10 229 || bail_out 'no device for FUSE'
install -m 755 "$VICTIMS/layers" "$B/tests/careless/jeprof-ctl-trusting" "$T/"
trusting=$T/jeprof-ctl-trusting

# make_layers NAME: create the folders for an overlayfs
make_layers()
{
	mkdir "$T/$1" && mkdir -m 777 "$T/$1"/{served,empty,upper,work,seen}
}

# start_on FOLDER: start a dumper with the jemalloc in that folder. Sets `pid`.
start_on()
{
	MALLOC_CONF=prof:true LD_PRELOAD=$1/libjemalloc.so.2 start_dumper dumper
}

# see_by SOURCE NAME PROGRAM [OPTION...]: its watch must see a dump of `pid`, by that source
see_by()
{
	local wanted=$1 name=$2 ctl=$CTL

	CTL=$3
	start_watch "$name" "${@:4}"
	CTL=$ctl
	order "$pid" dump "$T/$name.heap"
	end_watch "$name"
	is "$(seen "$name" "select(.pid == $pid) | .source")" "$wanted" "$name: seen by $wanted" ||
		diag "$(<"$T/$name.talk")"
}

# --- mounted by any user, over FUSE ---
make_layers any
wrap=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all
	"$T/layers" "$T/fuse" "$T/any" "$T/lib/libjemalloc.so.2")
chmod 777 "$T" # its dumps
MALLOC_CONF=prof:true start_dumper dumper
wrap=()
snapshot "$pid"
is "$(stat -f -c %T "/proc/$pid/root$T/any/seen/lib.so")" overlayfs 'statfs(2) cannot tell it from any other'
see_by tracepoint refused "$CTL" "$pid"
like "$(<"$T/refused.talk")" "$pid \(dumper\): its file is on an overlayfs that was mounted in a user namespace: .*its dumps are seen only by its system calls" \
	'the cause is reported'
see_by tracepoint all "$CTL" --all
# Control: statfs(2) is trusted.
TRUSTING=layers see_by uprobe control "$trusting" "$pid"
assert_untouched "$pid"
stop_target "$pid"

# --- mounted by root, as for containers: in memory, whoever runs on it ---
make_layers container
cp "$T/lib/libjemalloc.so.2" "$T/container/served/"
mount -t overlay tests "$T/container/seen" \
	-o "lowerdir=$T/container/served,upperdir=$T/container/upper,workdir=$T/container/work" ||
	bail_out 'no overlayfs'
mounted+=("$T/container/seen")
start_on "$T/container/seen"
snapshot "$pid"
see_by uprobe container "$CTL" "$pid"
assert_untouched "$pid"
stop_target "$pid"
wrap=(setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urm)
start_on "$T/container/seen"
wrap=()
snapshot "$pid"
see_by uprobe inside "$CTL" "$pid"
assert_untouched "$pid"
stop_target "$pid"

# A file that was copied to the upper layer since (overlayfs copies at the first write).
touch "$T/container/seen/libjemalloc.so.2"
start_on "$T/container/seen"
snapshot "$pid"
see_by uprobe upper "$CTL" "$pid"
assert_untouched "$pid"
stop_target "$pid"

# --- mounted by root, over FUSE ---
make_layers rooted
mounted+=("$T/rooted/seen" "$T/rooted/served")
wrap=("$T/layers" "$T/fuse" "$T/rooted" "$T/lib/libjemalloc.so.2")
MALLOC_CONF=prof:true start_dumper dumper
wrap=()
snapshot "$pid"
see_by tracepoint rooted "$CTL" "$pid"
like "$(<"$T/rooted.talk")" "$pid \(dumper\): its file is not on a disk of this machine \(file system 0x65735546\)" \
	'the cause is reported'
assert_untouched "$pid"
stop_target "$pid"

done_testing
