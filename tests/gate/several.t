#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several jemallocs in one process: all are listed, and --image selects one.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF
library=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
library=$(readlink -f "$library")

# rows FILTER: print what list shows of the process, in order
rows()
{
	jq -r --argjson pid "$pid" ".[] | select(.pid == \$pid) | $1" "$T/out"
}

# --- one in the program, with a prefix, and a preloaded one ---
wrap=(env LD_PRELOAD=libjemalloc.so.2)
start_victim idle-je 2
wrap=()
snapshot "$pid"
program=$VICTIMS/idle-je
ctl_ok 'list' list --json
is "$(rows '"<" + .prefix + ">"')" $'<je_>\n<>' 'list: one row each, the program'\''s own first'
is "$(rows .linkage)" $'static\npreload' 'list: how each is linked'
is "$(rows .image)" "$program"$'\n'"$library" 'list: the file of each'
ctl_ok 'list, as a table' list
is "$(awk -v pid="$pid" '$1 == pid { print $NF }' "$T/out")" $'idle-je\nlibjemalloc.so.2' \
	'list, as a table: file names'

ctl_ok 'status takes the program'\''s own' status "$pid" --json
is "$(json .image)" "$program" 'status: its image'
is "$(json .other_jemallocs)" 1 'status: there is another'
for name in "$library" libjemalloc.so.2; do
	ctl_ok "--image $name" --image "$name" status "$pid" --json
	is "$(json .image)" "$library" "--image $name: its image"
done
for name in "$program" idle-je je_; do
	ctl_ok "--image $name" --image "$name" status "$pid" --json
	is "$(json .prefix)" je_ "--image $name: its prefix"
done
ctl_ok 'check --image' check "$pid" --image libjemalloc.so.2
like "$out" "preload, $library" 'check --image: looks at that one'

# Switching one does not affect the other.
ctl_ok 'activate --image' activate "$pid" --image libjemalloc.so.2 --json
is "$(json .changed)" true 'activate --image: changed'
ctl_ok 'the other' get "$pid" prof.active --quiet
is "$out" false 'the other is not active'
ctl_ok 'this one' get "$pid" prof.active --quiet --image "$library"
is "$out" true 'this one is active'
ctl_ok 'deactivate --image' deactivate "$pid" --image "$library"

# Names that match none of them.
for name in libnone.so je "${program%/*}" _rjem_ ''; do
	ctl_fails 5 'image_not_there name_one_jemalloc' "--image '$name' is neither; both named" \
		--image "$name" activate "$pid"
	like "$err" "$program \(je_\), $library \(no prefix\)" "--image '$name': by path and prefix"
done
like "$err" 'fix: .*path or prefix' 'the fix is shown'
assert_untouched "$pid"
stop_target "$pid"

# --- the same file name twice ---
mkdir "$T/a" "$T/b"
cp "$library" "$T/a/libtwo.so"
# With another soname, or ld.so would take the second for the first.
LC_ALL=C sed 's/libjemalloc\.so\.2/libjemallox.so.2/' "$library" >"$T/b/libtwo.so"
wrap=(env LD_PRELOAD="$T/a/libtwo.so:$T/b/libtwo.so")
start_victim idle-plain 2
wrap=()
snapshot "$pid"
ctl_fails 2 'image_ambiguous name_one_jemalloc' 'an ambiguous name' \
	--image libtwo.so activate "$pid"
like "$err" "matches 2 .*$T/[ab]/libtwo.so .*$T/[ab]/libtwo.so" 'an ambiguous name: both are listed'
ctl_ok 'its path is unambiguous' --image "$T/b/libtwo.so" activate "$pid"
assert_untouched "$pid"
stop_target "$pid"

# --- without symbols: one in a program, and one hidden in a library ---
hidden=$VICTIMS/matrix/stripped/libhidden-rjem.so
is "$(nm -D --defined-only "$hidden" | wc -l)" 0 'a library that hides its jemalloc: no symbols'
wrap=(env LD_PRELOAD="$hidden")
start_victim "$VICTIMS/matrix/pie-duckdb.stripped" 2
snapshot "$pid"
ctl_ok 'list, without symbols' list --json
is "$(rows '"\(.linkage) \(.image)"')" "static $VICTIMS/matrix/pie-duckdb.stripped"$'\n'"preload $hidden" \
	'list, without symbols: one row each'
ctl_ok 'the program'\''s own, without symbols' activate "$pid" --json
is "$(json .changed)" true 'the program'\''s own, without symbols: changed'
ctl_ok 'the hidden one' get "$pid" prof.active --quiet --image "${hidden##*/}"
is "$out" false 'the hidden one is not active'
assert_untouched "$pid"
stop_target "$pid"

# One whose mallctl has a name takes precedence over a hidden one, however it was loaded.
start_victim idle 2
wrap=()
snapshot "$pid"
ctl_ok 'list, one is hidden' list --json
is "$(rows .image)" "$library"$'\n'"$hidden" 'list, one is hidden: one row each'
ctl_ok 'status, one is hidden' status "$pid" --json
is "$(json .image)" "$library" 'status, one is hidden: the other one'
ctl_ok 'activate the hidden one' activate "$pid" --image "${hidden##*/}"
ctl_ok 'its prof.active' get "$pid" prof.active --quiet --image "${hidden##*/}"
is "$out" true 'the hidden one is active'
assert_untouched "$pid"
stop_target "$pid"

# --- a deleted file can still be called ---
cp "$VICTIMS/idle-je" "$T/gone"
start_victim "$T/gone" 2
rm "$T/gone"
snapshot "$pid"
ctl_ok 'a program whose file is gone' --image "$T/gone" check "$pid"
assert_untouched "$pid"

ctl_fails 2 list_takes_no_image 'list takes no --image' list --image je_

done_testing
