#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names of addresses in a process, as in remote symbolization: the same as LLVM finds, and as in a
# profile of it. Nothing in the process is stopped.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:0
export XDG_CACHE_HOME=$T/cache
verbs=$B/tests/drivers/verbs

# named ADDRESS...: ask for their names. Sets `status`, `out` and `err`.
named()
{
	tr ' ' '\n' <<<"$*" | "$verbs" symbols "$pid" >"$T/out" 2>"$T/err"
	status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

# Four functions in a row; one is inlined into two others.
cat >"$T/app.cc" <<'SOURCE'
#include <cstdlib>
#include <unistd.h>
struct It { void operator--(int); };
volatile int sink;
void *volatile kept;
static inline __attribute__((always_inline)) void innermost(void) { sink = sink + 1; kept = malloc(100); sink = sink + 2; }
static inline __attribute__((always_inline)) void inner(void) { sink = sink + 3; innermost(); sink = sink + 4; }
extern "C" __attribute__((noinline)) void outer(void) { sink = 5; inner(); sink = 6; }
__attribute__((noinline)) void It::operator--(int) { sink = 7; innermost(); sink = 8; }
int main() { outer(); It it; it--; if (write(1, "ready\n", 6) != 6) return 1; pause(); }
SOURCE
g++ -g -O1 -o "$T/app" "$T/app.cc" -Wl,--no-as-needed -ljemalloc || bail_out 'no compiler'
"$T/app" >"$T/ready" &
pid=$!
own "$pid"
within 60 grep -q ready "$T/ready" || bail_out 'the program does not start'
base=$((0x$(grep -m 1 -F "$T/app" "/proc/$pid/maps" | cut -d - -f 1)))
snapshot "$pid"
before=$(grep ctxt "/proc/$pid/status")

# addresses_of FUNCTION [BIAS]: print the address of each byte of it, as in the file
addresses_of()
{
	local start size

	read -r start size <<<"$(nm -S "$T/app" | awk -v name="$1" '$4 == name { print $1, $2 }')"
	seq -f %.0f $((0x$start + ${2:-0})) $((0x$start + ${2:-0} + 0x$size - 1)) | xargs printf '0x%016x\n'
}

# --- every byte of a function, compared with LLVM ---

for function in outer _ZN2ItmmEi main; do
	addresses_of "$function" >"$T/places"
	ok "$function: it is not empty" test "$(wc -l <"$T/places")" -gt 10
	# The innermost comes first; functions are on every other line.
	xargs llvm-addr2line -aifC -e "$T/app" <"$T/places" | awk '
		function flush() { if (names) print names; names = "" }
		/^0x/ { flush(); next }
		!/^\// { gsub(/--/, "- -"); names = $0 (names ? "--" names : "") }
		END { flush() }' >"$T/theirs"
	addresses_of "$function" "$base" >"$T/addresses"
	named "$(<"$T/addresses")"
	is "$status" 0 "$function: exit status"
	is "$(cut -f 2 "$T/out" | diff - "$T/theirs")" '' "$function: the same names as LLVM finds"
	is "$(cut -f 1 "$T/out" | diff - "$T/addresses")" '' "$function: a line for each address, in their order"
	[ "$function" = main ] || like "$out" '--innermost'$'\n' "$function: inlined calls are among them"
done
is "$(grep ctxt "/proc/$pid/status")" "$before" 'the process never ran meanwhile'
assert_untouched "$pid"

# --- the same as in a profile ---

ctl_ok 'a profile' dump "$pid" -o "$T/it.heap"
ctl_ok 'a profile: its names' convert "$T/it.heap" "$T/it.raw"
sed -n '/^--- symbol/,/^---$/s/^\(0x[0-9a-f]*\) /\1\t/p' "$T/it.raw" | sort >"$T/all"
# Only addresses of calls: the profile does not say what the innermost ones are.
grep -oE '0x[0-9a-f]+' <(grep '^@' "$T/it.heap") | sort -u |
	while read -r at; do printf '0x%016x\n' $((at - 1)); done | sort >"$T/addresses"
join -t $'\t' "$T/addresses" "$T/all" | grep -v $'\t\\[0x' >"$T/theirs"
ok 'a profile: it has calls' test "$(wc -l <"$T/theirs")" -gt 5
named "$(<"$T/addresses")"
is "$(sort "$T/out" | diff - "$T/theirs")" '' 'the same names as in a profile'

# --- as jeprof requests and reads them ---

named "$(<"$T/addresses") $(<"$T/addresses")"
is "$(sort "$T/out" | diff - "$T/theirs")" '' 'an address asked for twice is answered once'
{
	printf '%s\n' '--- symbol' "binary=$T/app"
	cat "$T/out"
	printf '%s\n' '---' '--- heap'
	cat "$T/it.heap"
} >"$T/answered.raw"
jeprof --text --show_bytes "$T/answered.raw" 2>/dev/null >"$T/theirs"
like "$(<"$T/theirs")" $'\n +224 [^\n]* 224 [^\n]* innermost \\(inline\\)\n' 'jeprof: who allocated'
like "$(<"$T/theirs")" $'\n +0 [^\n]* 112 [^\n]* inner \\(inline\\)\n' 'jeprof: and the function it was inlined into'

# --- addresses without a name ---

named 0x0 0x1000 0xffffffffffffffff "$(grep -m 1 -F '[heap]' "/proc/$pid/maps" | cut -d - -f 1)"
is "$status,$out,$err" '0,,' 'an address in no image has no line'
named ''
is "$status,$out,$err" '0,,' 'no addresses: no answer'
strip -s -o "$T/bare" "$T/app"
"$T/bare" >"$T/ready.bare" &
bare=$!
own "$bare"
within 60 grep -q ready "$T/ready.bare" || bail_out 'the program does not start'
app=$pid
pid=$bare
at=$(addresses_of main $((0x$(grep -m 1 -F "$T/bare" "/proc/$pid/maps" | cut -d - -f 1))) | sed -n 5p)
named "$at"
is "$out" "$at	[bare+0x$(nm "$T/app" | awk '$3 == "main" { sub(/^0+/, "", $1); print $1 }')]" \
	'a function without a name is named by its start'

# --- limits, and no such process ---

seq -f %.0f 1 65536 | xargs printf '%x ' >"$T/most"
named "$(<"$T/most")"
is "$status" 0 'the maximum number of addresses'
named "$(<"$T/most") 10001"
is "$status" 2 'one too many: exit status'
like "$err" '^too_many_addresses: 65537 .* 65536' 'one too many: refused'
is "$out" '' 'one too many: nothing is answered'
echo "$at" | "$verbs" symbols "$pid" 1 >"$T/out" 2>"$T/err"
is "$?" 3 'a reused pid: exit status'
end_child "$bare" -KILL
wait "$bare" 2>/dev/null
named "$at"
is "$status" 3 'it has ended: exit status'
pid=$app
assert_untouched "$pid"

done_testing
