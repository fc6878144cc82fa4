#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a target hands over: files with holes, files that are huge, that change while they are read,
# or are no regular files, and invalid statistics. Each costs little, and is refused with a reason.
# The controls run a build that trusts everything (tests/careless/received.c).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

careless=$ROOT/build/tests/careless/jeprof-ctl-received
chmod 777 "$T"

# start_giver LIE [ARG]: start one that tells this lie
start_giver()
{
	export LIE=$1 ARG=${2:-}
	wrap=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
	cp "$VICTIMS/libgiver.so" "$T/"
	start_victim given
	wrap=()
	unset LIE ARG
	snapshot "$pid"
}

# start_root_giver LIE [ARG]: the same as root, which may create devices and give files away
start_root_giver()
{
	export LIE=$1 ARG=${2:-}
	start_victim given
	unset LIE ARG
	snapshot "$pid"
}

# cheap NAME: the last dump left no file behind, and the target untouched
cheap()
{
	ok "$1: no file is left" test ! -e "$T/got.heap"
	assert_untouched "$pid" "$1: untouched"
	stop_target "$pid"
}

# run_careless ARGUMENTS...: run the careless build. Sets `status`.
run_careless()
{
	timeout -k 1 100 "$careless" "${patient[@]}" -q "$@" >"$T/harm" 2>"$T/harm.err" </dev/null
	status=$?
}

# --- control: an honest dump is accepted ---
start_giver honest
ctl_ok 'an honest dump' dump "$pid" -o "$T/got.heap"
ok 'it is a profile' grep -q '^# pid ' "$T/got.heap"
rm -f "$T/got.heap"
cheap 'an honest dump'

# --- holes ---
for lie in sparse sparse-title; do
	start_giver "$lie" $((96 << 20))
	ctl_fails 1 received_sparse "$lie: a hole is refused" dump "$pid" -o "$T/got.heap"
	run_careless dump "$pid" -o "$T/harm.heap"
	ok "control: $lie: the hole would be copied" test "$(stat -c %s "$T/harm.heap")" -ge $((96 << 20))
	ok "control: $lie: and fill the disk" test "$(stat -c %b "$T/harm.heap")" -ge $((90 << 11))
	rm -f "$T/harm.heap"
	cheap "$lie"
done
start_giver sparse $((4 << 60))
ctl_fails 1 'received_too_large raise_max_size' 'four exbibytes are refused' --timeout 5s dump "$pid" -o "$T/got.heap"
timeout -k 1 8 "$careless" --max-pause 60s -q --timeout 4s dump "$pid" -o - 2>/dev/null | head -c $((64 << 20)) >/dev/null
like "${PIPESTATUS[0]}" '^(124|137)$' 'control: they would be read forever'
cheap 'four exbibytes'

# --- large, but without holes ---
start_giver large $((8 << 20))
ctl_fails 1 'received_too_large raise_max_size' 'larger than --max-size' dump "$pid" --max-size 1M -o "$T/got.heap"
like "$err" 'the limit is 1\.0M.*fix: .*--max-size' 'the cause names the limit, the fix --max-size'
ctl_ok 'as large as --max-size allows' dump "$pid" --max-size 16M -o "$T/got.heap"
rm -f "$T/got.heap"
mkdir "$T/small"
mount -t tmpfs -o size=4m tmpfs "$T/small" && mounted+=("$T/small")
ctl_fails 10 'output_failed make_room' 'room on the disk is checked first' dump "$pid" -o "$T/small/got.heap"
is "$(ls -A "$T/small")" '' 'no file is left there'
cheap 'large'

# --- it changes during reading ---
for lie in changes grows; do
	# On a loaded machine, it may be read completely before anybody changes it.
	for ((tries = 0; tries < 5; tries++)); do
		start_giver "$lie" $((64 << 20))
		run_ctl --timeout 20s dump "$pid" -o "$T/got.heap"
		[ "$status" -eq 0 ] || break
		rm -f "$T/got.heap"
		stop_target "$pid"
	done
	like "$status" '^(1|9)$' "$lie: refused" || diag "$err"
	like "$err" 'changed while it was read|is sparse|cannot read|truncated' "$lie: the cause"
	ok "$lie: no file is left" test ! -e "$T/got.heap"
	stop_target "$pid"
done

start_giver grows $((64 << 20))
run_careless dump "$pid" -o "$T/harm.heap"
is "$status" 0 'control: part of a growing file would be taken for all of it'
rm -f "$T/harm.heap"
stop_target "$pid"

# --- in a file of the target: what is there afterwards is inspected, not opened ---
mkdir -m 777 "$T/in"
echo precious >"$T/precious"
chmod 600 "$T/precious"
for lie in device fifo symlink hardlink foreign; do
	start_root_giver "$lie" "$T/precious"
	sum=$(md5sum <"$T/precious")
	run_ctl --timeout 10s dump "$pid" --in-target "$T/in/$lie.heap"
	like "$status" '^(0|1|9)$' "$lie in its place: the command ends" || diag "$err"
	strace -f -e trace=openat,open,openat2 -o "$T/trace" "$CTL" "${patient[@]}" -q --timeout 10s \
		dump "$pid" --in-target "$T/in/$lie.heap" --force >/dev/null 2>&1
	unlike "$(grep -v O_PATH "$T/trace" | grep -v O_DIRECTORY)" "$lie.heap|/precious" \
		"$lie in its place: never opened"
	is "$(md5sum <"$T/precious")" "$sum" "$lie in its place: nothing is written through it"
	assert_untouched "$pid" "$lie in its place: untouched"
	if [ "$lie" = device ] || [ "$lie" = foreign ]; then
		rm -f "$T/in/$lie.heap"
		strace -f -e trace=openat,open -o "$T/trace" "$careless" "${patient[@]}" -q dump "$pid" \
			--in-target "$T/in/$lie.heap" --force >/dev/null 2>&1
		ok "control: $lie: would be opened for writing" grep -q "$lie.heap.*O_RDWR" "$T/trace"
	fi
	stop_target "$pid"
done

# A file that the target itself may not write to is not written to for it.
start_giver honest
ctl_ok 'honest, in the target' dump "$pid" --in-target "$T/in/honest.heap"
ok 'honest, in the target: completed' grep -q '^# pid ' "$T/in/honest.heap"
is "$(stat -c %U "$T/in/honest.heap")" nobody \
	"honest, in the target: it belongs to the target's user"
# strace slows it down: on a busy machine there may be no safe moment at first.
writes_as_user()
{
	strace -f -e trace=setfsuid,openat,write -o "$T/trace" "$CTL" "${patient[@]}" -q dump "$pid" \
		--in-target "$T/in/honest.heap" --force >/dev/null 2>&1
	grep -q 'setfsuid(65534)' "$T/trace"
}
ok 'honest, in the target: written with the rights of that user' within 60 writes_as_user
assert_untouched "$pid" 'honest, in the target: untouched'
stop_target "$pid"

# --- invalid statistics ---
printf '\033]0;owned\a{"jemalloc": 1}\n' >"$T/escapes"
printf 'root:x:0:0::/root:/bin/sh\nnobody:x:1::/:/bin/sh\n' >"$T/passwd"
printf '{"jemalloc": {"version": "1"}} trailing\n' >"$T/trailing"
printf '{"jemalloc": {"version": "\033[31m"}}\n' >"$T/red"
printf '{"jemalloc": {"version": "1"},\r"other": 2}\n' >"$T/return"
printf '[1, 2]' >"$T/array"
printf '{"jemalloc": {"version": "5", "stats": {"allocated": 7}}}\n' >"$T/good"
: >"$T/nothing"
chmod 644 "$T"/{escapes,passwd,trailing,red,return,array,good,nothing}
declare -A why=([escapes]=stats_control_character [passwd]=stats_malformed [trailing]=stats_malformed
	[red]=stats_control_character [return]=stats_control_character [array]=stats_malformed [nothing]=no_statistics)
for file in escapes passwd trailing red return array nothing; do
	start_giver stats "$T/$file"
	for format in json prom; do
		ctl_fails 1 "${why[$file]}" "$file: refused as $format" stats "$pid" -f "$format"
	done
	run_ctl stats "$pid" -f text
	is "$(LC_ALL=C tr -d '[:print:]\n\t\200-\377' <"$T/out" | wc -c)" 0 "$file: no control characters"
	if [[ $file =~ ^(passwd|escapes|return)$ ]]; then
		run_careless stats "$pid" -f json
		is "$(md5sum <"$T/harm")" "$(md5sum <"$T/$file")" "control: $file: would be passed on"
	fi
	assert_untouched "$pid" "$file: untouched"
	stop_target "$pid"
done
start_giver stats "$T/good"
ctl_ok 'good statistics' stats "$pid" -f json
is "$(json .jemalloc.stats.allocated)" 7 'good statistics: passed on'
ctl_ok 'good statistics: rendered' stats "$pid" -f prom
like "$out" 'jemalloc_allocated_bytes\{[^}]*\} 7' 'good statistics: rendered: the numbers'
stop_target "$pid"
start_giver stats-sparse $((1 << 30))
ctl_fails 1 'received_too_large raise_max_size' 'statistics of a gigabyte' stats "$pid" -f text
ctl_fails 1 received_sparse 'statistics with a hole' stats "$pid" -f text --max-size 2G
assert_untouched "$pid" 'statistics of a gigabyte: untouched'

done_testing
