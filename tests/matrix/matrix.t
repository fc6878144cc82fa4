#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every linkage of jemalloc, every prefix, with symbols and without: jemalloc is found, at the
# addresses that nm(1) prints for the twin that was not stripped, and usable.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

M=$VICTIMS/matrix
declare -A prefix_of=([none]='' [je]=je_ [rjem]=_rjem_ [duckdb]=duckdb_je_)
declare -A pids=()
options=(prof_active prof_thread_active_init lg_prof_sample lg_prof_interval prof_gdump prof_final
	prof_leak prof_accum)

# What can take samples: jemalloc's unwinder crashes a static program that has prof:true.
works=(shared preload pie)
looks=(static-pie static static-hdr)

# start LINKAGE PREFIX SYMBOLS: start that victim; SYMBOLS is '' or .stripped
start()
{
	local libs=$M${3:+/stripped}

	case $1 in
	shared) wrap=(env LD_LIBRARY_PATH="$libs") && start_victim "$M/shared-$2$3" 3 ;;
	preload) wrap=(env LD_PRELOAD="$libs/libjemalloc-$2.so") && start_victim idle-plain 3 ;;
	*) start_victim "$M/$1-$2$3" 3 ;;
	esac
	wrap=()
	pids["$1-$2$3"]=$pid
}

# where FILE PID: print the load address of the image, to be added to the addresses of nm(1)
where()
{
	case $(readelf -h "$1") in *'EXEC (Exec'*) echo 0 && return ;; esac
	awk -v name="${1##*/}" '{ n = $6; sub(".*/", "", n); sub("[.]stripped$", "", n) }
		n == name { sub("-.*", "", $1); print $1; exit }' "/proc/$2/maps"
}

# addresses FILE PID SYMBOL...: print "0x..." for each in the process
addresses()
{
	local base value names=("${@:3}") name

	base=$(where "$1" "$2")
	declare -A at=()
	while read -r value _ name; do
		at[$name]=$((16#$value + 16#$base))
	done < <(nm --defined-only "$1" | grep -E " ($(IFS='|' && echo "${names[*]}"))\$")
	for name in "${names[@]}"; do
		printf '%#x\n' "${at[$name]:-0}"
	done | paste -sd ' '
}

# found NAME LINKAGE PREFIX SYMBOLS: status agrees with nm
found()
{
	local name=$1 linkage=$2 prefix=${prefix_of[$3]} twin=$M/$2-$3 by=symbols kind=static
	local pid=${pids[$1]}

	case $linkage in
	shared | preload) twin=$M/libjemalloc-$3.so kind=$linkage ;;
	*) [ -z "$4" ] || { by=scan && prefix=; } ;;
	esac
	ctl_ok "$name: status" status "$pid" --json || return
	is "$(json '[.jemalloc.found_by, .linkage, .prefix, .jemalloc.names] | join(" ")')" \
		"$by $kind $prefix 204" "$name: how it was found"
	is "$(json '.jemalloc | [.mallctl, .malloc_stats_print, .opt_prof, .prof_active, .prof_dump] | join(" ")')" \
		"$(addresses "$twin" "$pid" "${prefix_of[$3]}"{mallctl,malloc_stats_print} \
			je_{opt_prof,prof_active_state} prof_dump)" "$name: its addresses"
	is "$(json '.jemalloc | ['"$(printf '.opt_%s,' "${options[@]}" | sed 's/,$//')"'] | join(" ")')" \
		"$(addresses "$twin" "$pid" "${options[@]/#/je_opt_}")" "$name: the addresses of its options"
	is "$(json .jemalloc.prof_dump_file)" rdx "$name: the register of the dump's name"
}

each()
{
	local linkage prefix symbols

	for prefix in none je rjem duckdb; do
		for linkage in "${cells[@]}"; do
			# One prefix is enough to show what the frame table changes.
			[[ $linkage != static-hdr || $prefix = none ]] || continue
			for symbols in '' .stripped; do
				"$1" "$linkage-$prefix$symbols" "$linkage" "$prefix" "$symbols"
			done
		done
	done
}

begin()
{
	start "$2" "$3" "$4"
	snapshot "$pid"
}

activate()
{
	ctl_ok "$1: activate" activate "${pids[$1]}" --json
	is "$(json .changed)" true "$1: changed"
}

poke()
{
	local pid=${pids[$1]}

	ctl_ok "$1: poke" activate --mode poke "$pid" --json
	is "$(json '[.before, .after, .mode, .pause_us] | join(" ")')" 'false true poke 0' "$1: poke: what it did"
	ctl_ok "$1: poke: get" get "$pid" prof.active -q
	is "$out" true "$1: poke: mallctl reads the same"
	ctl_ok "$1: poke back" deactivate --mode poke "$pid" --json
	is "$(json .changed)" true "$1: poke back: changed"
}

dump()
{
	local pid=${pids[$1]}

	ctl_ok "$1: dump" dump "$pid" -o "$T/$1.heap"
	ok "$1: a profile" is_profile "$T/$1.heap"
	ok "$1: with stacks" comes_to_have_stacks "$T/$1.heap"
	[ -n "$4" ] || return
	ctl_ok "$1: stats" stats "$pid" -f json
	like "$(json .jemalloc.version)" '^5\.' "$1: stats is jemalloc's document"
}

finish()
{
	assert_untouched "${pids[$1]}" "$1: untouched"
	stop_target "${pids[$1]}"
}

# A static program without symbols: calls are made in a waiting thread; profiling is off.
refuse()
{
	local pid=${pids[$1]}

	ctl_fails 6 opt_prof_false "$1: no profiling" activate "$pid"
	[ -n "$4" ] || return
	ctl_ok "$1: get" get "$pid" arenas.narenas --json
	is "$(json .mode)" inline "$1: in one of its own threads"
}

export MALLOC_CONF=$PROF
cells=("${works[@]}")
each begin
each found
each poke
each activate
each dump
each finish

MALLOC_CONF=''
cells=("${looks[@]}")
each begin
each found
each refuse
pid=${pids[static-none.stripped]}
ctl_fails 1 needs_pthread_create 'static: what needs a thread' stats "$pid"
each finish

# The first call confirms what was found; another version ends the command.
start pie none .stripped
snapshot "$pid"
ok 'another version in memory' python3 - "$pid" "$M/pie-none.stripped" "$(where "$M/pie-none" "$pid")" <<'EOF'
import sys
at = open(sys.argv[2], "rb").read().index(b"5.3.0-0-g")
with open(f"/proc/{sys.argv[1]}/mem", "r+b", 0) as mem:
    mem.seek(int(sys.argv[3], 16) + at)
    mem.write(b"5.3.9")
EOF
ctl_fails 5 not_mallctl 'not confirmed' activate "$pid"
like "$err" '5\.3\.9.*5\.3\.0' 'not confirmed: both versions are named'
assert_untouched "$pid" 'not confirmed: untouched'
stop_target "$pid"

# Strings are not enough, nor is a function that is called with them.
start_victim "$M/words"
snapshot "$pid"
ctl_fails 5 jemalloc_without_names 'words: no jemalloc' activate "$pid"
assert_untouched "$pid" 'words: untouched'

done_testing
