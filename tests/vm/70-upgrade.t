#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A service that runs while its libjemalloc2 is upgraded: the library that it uses has no path any
# more, and the path leads to another file.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
export WATCH_SYSTEM=1
# shellcheck source=tests/watching.sh
. tests/watching.sh

start_redis_service prof:true,prof_active:false,lg_prof_sample:12,prof_prefix:/tmp/own
library=$(awk '$6 ~ /libjemalloc\.so/ { print $6; exit }' "/proc/$pid/maps")
other=$(awk '$6 ~ /\/libc[-.]/ { print $6; exit }' "/proc/$pid/maps")
ok 'the library has a name' test -f "$library"

# Like dpkg: create the new file beside the old one, and rename it. It is a library, but no
# jemalloc.
mkdir -m 755 "$T/kept"
kept=$T/kept/${library##*/}
cp -p "$library" "$kept"
at_end+=("cp -p $kept $library.dpkg-new" "mv -f $library.dpkg-new $library")
cp "$other" "$library.dpkg-new"
mv -f "$library.dpkg-new" "$library"
export LD_LIBRARY_PATH=$T/kept # redis-cli is linked with it, too
ok 'the library in use has no name any more' grep -qF "$library (deleted)" "/proc/$pid/maps"
fill_redis 4000
snapshot "$pid"

ctl_ok 'list' list --json
is "$(json ".[] | select(.pid == $pid) | \"\(.linkage) \(.config.prof) \(.opt.prof)\"")" 'shared true true' 'list: it is listed'
ctl_ok 'check' check "$pid"
ctl_ok 'activate' activate "$pid"
fill_redis 1000
start_watch upgraded "$pid"
ctl_ok 'dump' dump "$pid" -o "$T/upgraded.heap"
ctl_ok 'dump --in-target' dump "$pid" --in-target /tmp/upgraded.heap
end_watch upgraded
ok 'dump: a profile' is_profile "$T/upgraded.heap"
is "$(seen upgraded '"\(.kind) \(.ok) \(.by) \(.source)"')" \
	"$(printf '%s\n' 'manual true jeprof-ctl uprobe' 'manual true null uprobe')" 'both are seen'
ctl_ok 'report' report "$T/upgraded.heap" --json
like "$(json '[.rows[].name] | join(" ")')" 'redis' 'report: names redis'
ctl_ok 'deactivate' deactivate "$pid"
assert_untouched "$pid"
feature 'libjemalloc2 upgraded meanwhile'

# A user may not open deleted files: the contents come from the process's memory.
systemctl stop redis-server
unset LD_LIBRARY_PATH
cp -p "$kept" "$library.dpkg-new" && mv -f "$library.dpkg-new" "$library"
wrap=("${user[@]}")
MALLOC_CONF=$PROF launch_redis "$T"
wrap=()
cp "$other" "$library.dpkg-new"
mv -f "$library.dpkg-new" "$library"
export LD_LIBRARY_PATH=$T/kept
set_sysctl kernel.yama.ptrace_scope 0
snapshot "$pid"
runner=("${user[@]}")
ctl_ok 'a user: list' list --json
is "$(json ".[] | select(.pid == $pid) | .linkage")" shared 'a user: it is listed'
ctl_ok 'a user: activate' activate "$pid"
ctl_ok 'a user: deactivate' deactivate "$pid"
feature 'libjemalloc2 upgraded meanwhile, a user'
runner=()
ctl_ok 'and root may' activate "$pid"
assert_untouched "$pid" 'the process of a user: untouched'

done_testing
