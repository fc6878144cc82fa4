#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A bundle has everything that a profile needs on another machine: names are read only from it.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:8
cat >"$T/far.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
char *volatile kept;
static inline __attribute__((always_inline)) void carried_along(size_t n)
{
	kept = malloc(n);
}
__attribute__((noinline)) void far_away(size_t n)
{
	for (int i = 0; i < 200; i++)
		carried_along(n);
}
int main(void)
{
	far_away(3000);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
C
cc -std=gnu17 -O2 -g -o "$T/far" "$T/far.c" -Wl,--no-as-needed -ljemalloc || bail_out 'no compiler'
"$T/far" >"$T/said" 2>&1 &
pid=$!
own "$pid"
within 60 grep -q ready "$T/said" || bail_out "it did not start: $(<"$T/said")"
snapshot "$pid"

# --- of a process ---
ctl_ok 'bundle PID' bundle "$pid" --no-cache -o "$T/far.bundle.tar.gz"
like "$out" '/far\.bundle\.tar\.gz \([0-9.]+K\)' 'bundle PID: the output names the file'
is "$(stat -c %a "$T/far.bundle.tar.gz")" 600 'bundle PID: only its owner can read it'
is "$(tar tzf "$T/far.bundle.tar.gz" | sort | tr '\n' ' ')" \
	'far/explain.json far/maps far/profile.heap far/profile.pb.gz far/profile.raw far/stats.json ' 'bundle PID: its contents'
mkdir "$T/unpacked"
ok 'bundle PID: tar unpacks it' tar xzf "$T/far.bundle.tar.gz" -C "$T/unpacked"
ok 'bundle PID: the profile' is_profile "$T/unpacked/far/profile.heap"
like "$(<"$T/unpacked/far/profile.heap")" "# pid $pid" 'bundle PID: the pid of the profile'
is "$(json '.jemalloc.opt.prof' "$T/unpacked/far/stats.json")" true 'bundle PID: statistics and configuration'
like "$(<"$T/unpacked/far/maps")" "$T/far" 'bundle PID: mappings'
is "$(json .sampled "$T/unpacked/far/explain.json")" true 'bundle PID: where its memory is, and that it is sampled'
ctl_fails 10 'output_exists choose_or_force' 'an existing file is not replaced' bundle "$pid" -o "$T/far.bundle.tar.gz"
ctl_ok 'replaced with --force' bundle "$pid" --force --no-cache -o "$T/far.bundle.tar.gz" --json
is "$(json .file)" "$T/far.bundle.tar.gz" '--json: the file'
is "$(json .pid)" "$pid" '--json: the process'
assert_untouched "$pid" 'the target is untouched'

# --- of a file; names remain after the program is gone ---
ctl_ok 'dump' dump "$pid" -o "$T/far.heap"
ctl_ok 'bundle FILE' bundle "$T/far.heap" --no-cache -o "$T/file.bundle.tar.gz"
is "$(tar tzf "$T/file.bundle.tar.gz" | sort | tr '\n' ' ')" \
	'file/profile.heap file/profile.pb.gz file/profile.raw ' 'bundle FILE: its contents'
assert_untouched "$pid" 'bundle FILE touches no process'

# --- through pipes ---
"$CTL" bundle - --no-cache -o - <"$T/far.heap" >"$T/piped.bundle.tar.gz" 2>"$T/err"
is "$?" 0 'bundle - -o -' || diag "$(<"$T/err")"
# shellcheck disable=SC2002 # a pipe is what is tested
cat "$T/far.heap" | "$CTL" bundle - --no-cache -o - 2>"$T/err" | tar xzO profile/profile.heap >"$T/piped.heap"
ok 'bundle of a pipe: it has the profile' cmp "$T/piped.heap" "$T/far.heap"
ok 'bundle -o -: no file of that name' test ! -e ./-
run_ctl bundle "$T/far.heap" -o - --json
is "$status $(json .error.code)" '2 usage' 'bundle -o - --json is refused'
ctl_ok 'bundle PID -o -' bundle "$pid" --no-cache -o -
ok 'bundle PID -o -: a bundle and nothing else' tar tzf "$T/out"
stop_target "$pid"
rm "$T/far"
for of in far file piped; do
	ctl_ok "report of $of" report "$T/$of.bundle.tar.gz" --lines
	like "$out" "carried_along[^"$'\n'"]*far\.c:7" "report of $of: names, files and lines without the program"
done
# For each sampled object of 3,000 bytes, 16 KiB are set aside, which the program does not use.
ctl_ok 'report of far: where its memory was' report "$T/far.bundle.tar.gz" --json
is "$(json '.memory | [.sampled, .parts.sampling > 2500000, .parts.allocated < 2500000] | tostring')" '[false,true,true]' \
	'report of far: memory of sampling is counted separately' || diag "$(json .memory.parts)"
is "$(json .memory.parts "$T/out" | jq '.allocated + .sampling')" "$(jq '.parts.allocated' "$T/unpacked/far/explain.json")" \
	'report of far: explain counts both as allocated'
sentence=$(json '.memory.advice[0].message')
ctl_ok 'report of far, for people' report "$T/far.bundle.tar.gz"
is "$(sed -n 2p <<<"$out")" "$sentence" 'report of far, for people: the largest part, above the table'
ctl_ok 'report of file, for people' report "$T/file.bundle.tar.gz" --json
is "$(json .memory)" null 'report of file: nothing about a process'

# The contents of a bundle cannot be trusted.
mkdir "$T/wild"
cp "$T/unpacked/far/profile.raw" "$T/wild/"
for wild in '{"rss_bytes":1e300,"stats":7,"parts":{"allocated":-9223372036854775808,"files":"x"},"runtime":{}}' \
	'{"rss_bytes":100,"stats":{},"parts":{"dirty":1000}}' '[]' '{' ''; do
	printf %s "$wild" >"$T/wild/explain.json"
	tar czf "$T/wild.bundle.tar.gz" -C "$T" wild
	ctl_ok "a wild explanation: $wild" report "$T/wild.bundle.tar.gz"
	like "$out" carried_along "a wild explanation: $wild: the profile is shown"
	unlike "$out" resident "a wild explanation: $wild: it is ignored"
done

ctl_ok 'report of the bare profile' report "$T/far.heap"
like "$out" '\[far\+0x' 'report of the bare profile: no names without the program'

# Another build in the same place must not be used.
cc -std=gnu17 -O1 -g -o "$T/far" "$T/far.c" -Wl,--no-as-needed -ljemalloc
ctl_ok 'report with another build in its place' report "$T/far.heap"
like "$err" 'far is not the file that was mapped \(it has another build id\): its names are not used' \
	'report with another build in its place: a warning'
like "$out" '\[far\+0x' 'report with another build in its place: addresses'
unlike "$out" 'far_away|carried_along' 'report with another build in its place: no names'

# --- not a bundle ---
head -c 2000 "$T/far.bundle.tar.gz" >"$T/cut"
{ printf '\377' && head -c 999 /dev/urandom; } | gzip >"$T/noise.gz"
tar czf "$T/empty.tar.gz" -C "$T" said
ctl_fails 1 'in_file archive_failed' 'cut: refused' report "$T/cut"
ctl_fails 1 'in_file archive_failed' 'noise.gz: refused' report "$T/noise.gz"
ctl_fails 1 'in_file no_profile_in_bundle' 'empty.tar.gz: refused' report "$T/empty.tar.gz"
like "$err" "$T/empty.tar.gz: " 'empty.tar.gz: the error names it'
ctl_fails 1 'in_file archive_failed unpack_a_heap_profile' 'a packed file' report "$T/noise.gz"
ctl_fails 1 'in_file profile_malformed' 'bundle of a file that is no profile' bundle "$T/far.c" -o "$T/never"
ctl_fails 1 'in_file is_packed report_reads_bundles' 'bundle of a bundle' \
	bundle "$T/far.bundle.tar.gz" -o "$T/never"
ctl_fails 1 'in_file is_program pass_only_profiles' 'bundle of a program' bundle "$CTL" -o "$T/never"
ctl_fails 1 'in_file file_unopened' 'bundle of a missing file' bundle "$T/none.heap" -o "$T/never"
ctl_fails 1 'in_file file_unopened' 'bundle of a folder' bundle "$T" -o "$T/never"
like "$err" "$T: .*Is a directory" 'bundle of a folder: the cause'
ok 'no file is left' test ! -e "$T/never"
ctl_fails 2 'needs_process give_a_process' 'neither a process nor a file' bundle

# --- without libarchive, which is loaded only for bundles ---
library=$(ldconfig -p | awk '$1 == "libarchive.so.13" { print $NF; exit }')
status=0
unshare -m sh -c 'mount --bind /dev/null "$1" && shift && exec "$@"' sh "$library" \
	"$CTL" report "$T/far.bundle.tar.gz" >"$T/out" 2>"$T/err" || status=$?
is "$status" 1 'without libarchive: no bundle'
like "$(<"$T/err")" 'bundles require libarchive\.so\.13.*fix: apt-get install libarchive13' 'without libarchive: the fix'
unshare -m sh -c 'mount --bind /dev/null "$1" && shift && exec "$@"' sh "$library" \
	"$CTL" report "$T/far.heap" >"$T/out" 2>"$T/err"
like "$(<"$T/out")" 'far' 'without libarchive: a profile can be read'
done_testing
