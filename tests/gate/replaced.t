#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A profile that a program wrote by itself has no build ids: names from a file that was replaced or
# changed since are not used, and the reason is reported.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# Two functions that only their addresses tell apart: in the other build they are swapped.
leaker='__attribute__((noinline)) void real_leaker(void) { for (int i = 0; i < 500; i++) kept = malloc(3000); }'
innocent='__attribute__((noinline)) void innocent(void) { for (int i = 0; i < 500; i++) kept = calloc(1, 16); }'
program()
{
	printf '%s\n' '#include <stdlib.h>' 'char *volatile kept;' "$2" "$3" \
		'int main(void) { if (!kept) real_leaker(); else innocent(); return 0; }' >"$T/$1.c"
	cc -std=gnu17 -O0 -o "$T/$1" "$T/$1.c" -Wl,--no-as-needed -ljemalloc || bail_out 'no compiler'
}

program app "$leaker" "$innocent"
program other "$innocent" "$leaker"
mkdir "$T/dumps"
MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:8,prof_final:true,prof_prefix:$T/dumps/own "$T/app" ||
	bail_out 'the program failed'
mv "$T"/dumps/own.*.heap "$T/own.heap" || bail_out 'no dump'
unlike "$(<"$T/own.heap")" 'build-id' 'the program'"'"'s own dump: no build id'
inode=$(stat -c %i "$T/app")

# named TITLE ARGUMENTS...: the functions must be right, without a warning about the program
named()
{
	local title=$1

	shift
	ctl_ok "$title" report "$@" "$T/own.heap"
	like "$out" ' real_leaker' "$title: the function that allocated"
	unlike "$out" 'innocent' "$title: no other function"
	unlike "$err" "$T/app .*(inode|changed|deleted)" "$title: no warning"
}

# refused TITLE WHY [ARGUMENTS...]: no names of the program, and one warning with the reason
refused()
{
	local title=$1 why=$2

	shift 2
	ctl_ok "$title" report "$@" "$T/own.heap"
	unlike "$out" ' (real_leaker|innocent|main)('$'\n''|$)' "$title: no names of that file"
	like "$out" ' \[app\+0x[0-9a-f]+\]' "$title: offsets"
	is "$(grep -c -- '--trust-images uses that file' <<<"$err")" 1 "$title: one warning, with its fix"
	like "$err" "$why" "$title: the cause is reported"
}

named 'unchanged'

# Another file is renamed to its name, as by a package manager.
mv "$T/app" "$T/app.old"
cp "$T/other" "$T/app"
refused 'replaced' "warning: $T/app is not the file that was mapped \(inode $inode then, $(stat -c %i "$T/app") here\)"
ctl_ok 'trusted' report --trust-images "$T/own.heap"
like "$out" ' innocent' 'trusted: control: names of the other file'
ctl_ok 'replaced, as JSON' report --json "$T/own.heap"
is "$(jq -r '[.warnings[] | select(.id == "image_replaced")] | length' "$T/out")" 1 'replaced, as JSON: a warning'
ok 'replaced, as JSON: with its fix' jq -e '.warnings[] | select(.id == "image_replaced") | .fix | test("--trust-images")' "$T/out"
ctl_ok 'replaced, convert' convert "$T/own.heap" "$T/own.folded"
unlike "$(<"$T/own.folded")" '(real_leaker|innocent)' 'replaced, convert: no names'
ctl_ok 'replaced, diff' diff "$T/own.heap" "$T/own.heap"
like "$err" 'is not the file that was mapped' 'replaced, diff: a warning'
run_ctl bundle "$T/own.heap" -o "$T/own.tar" --trust-images
like "$(tar xzOf "$T/own.tar" --wildcards '*/profile.raw')" innocent 'bundle --trust-images'

# The same file, moved away and back: its ctime has changed, whatever its contents.
mv "$T/app.old" "$T/app"
refused 'changed' "warning: $T/app was changed on [0-9-]+ [0-9:]+ UTC, after the profile was written"
touch "$T/own.heap"
named 'the profile is newer'

# Another device number is not another file.
sed -i -E "s| [0-9a-f]+:[0-9a-f]+ ($inode +$T/app)| 7f:7f \1|" "$T/own.heap"
like "$(<"$T/own.heap")" " 7f:7f $inode " 'another device number: the profile has it'
named 'another device number'

# Deleted when the profile was written; then, two files with the same path.
cp "$T/own.heap" "$T/kept.heap"
sed -i "s|$T/app\$|& (deleted)|" "$T/own.heap"
refused 'deleted' "warning: $T/app had been deleted when the profile was written"
sed "s| $inode\( *$T/app\)\$| 77\1|" "$T/kept.heap" >"$T/own.heap"
refused 'two files' "warning: the profiles are of two files $T/app \(inode $inode and 77\)" "$T/kept.heap"

# If the profile has a build id, only that counts.
cp "$T/kept.heap" "$T/own.heap"
code=$(awk -v path="$T/app" '$NF == path && $2 ~ /x/ { print $1; exit }' "$T/own.heap")
printf '# build-id %s %s\n' "$code" "$(readelf -n "$T/app" | awk '/Build ID:/ { print $3 }')" >>"$T/own.heap"
cp "$T/app" "$T/copy"
mv "$T/copy" "$T/app"
named 'a copy, of the same build id'
refused 'a copy, combined with a profile without build ids' 'is not the file that was mapped' "$T/kept.heap"

done_testing
