# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh
# shellcheck disable=SC2034 # answer is for the test
# For tests of `watch`: watches in the background, programs that dump on demand, and the expected
# events. Sourced after tests/lib.sh.

need_tracefs

# While a probe is inserted into a file, or removed from it, no process on the machine can fork. A
# test in which a process prolongs this (WATCH_ALONE=1) runs while no other test watches. Tests take
# turns: later ones queue behind it.
exec {turn}</sys/kernel/tracing/events {machine}</sys/kernel/tracing
flock -w 1000 "$turn" && flock -w 1000 "$([ "${WATCH_ALONE:-}" = 1 ] && echo -x || echo -s)" "$machine" ||
	bail_out 'another test with a watch does not end'
exec {turn}<&-

# A probe puts a breakpoint into the code, which must be removed when the watch ends.
export PHOTO_CODE=1

# A private copy of the library is independent of other watches on this machine. With WATCH_SYSTEM=1
# there are none.
if [ "${WATCH_SYSTEM:-}" != 1 ]; then
	mkdir "$T/lib"
	cp -L "/usr/lib/$(cc -print-multiarch)/libjemalloc.so.2" "$T/lib/"
	export LD_LIBRARY_PATH=$T/lib
fi

# --- watches ------------------------------------------------------------------------------

# start_probing WORD OUT TALK COMMAND...: start it in the background, and wait until a line of its
# stderr begins with WORD: its probes are then in place. Sets `prober`.
start_probing()
{
	local word=$1 out=$2 talk=$3

	shift 3
	rm -f "$out" "$talk" # of an earlier one
	"$@" >"$out" 2>"$talk" </dev/null &
	prober=$!
	own "$prober"
	within 300 has_begun "$prober" "$word" "$talk"
	grep -qs "^$word" "$talk" || bail_out "$*: $(<"$talk")"
}

has_begun()
{
	grep -qs "^$2" "$3" || ! kill -0 "$1"
}

# start_watch NAME ARGUMENTS...: start it, through `watch_by` if set. Events go to $T/NAME.events,
# stderr to $T/NAME.talk. Sets `watcher`.
watch_by=()
start_watch()
{
	local name=$1

	shift
	start_probing watching "$T/$name.events" "$T/$name.talk" "${watch_by[@]}" "$CTL" watch --json "$@"
	watcher=$prober
}

# end_watch NAME [PID]: end it as with Ctrl-C; earlier events must be in its output
end_watch()
{
	local name=$1 ended=${2:-$watcher}

	end_child "$ended" -INT
	wait "$ended"
	is "$?" 0 "$name: the watch exits"
	[ ! -s "$T/$name.events" ] || ok "$name: each event conforms to the schema" \
		tests/drivers/schema-check doc/schema/jeprof-ctl.json watch "$T/$name.events"
	case $(<"$T/$name.talk") in *Sanitizer* | *'runtime error'*)
		result 1 "$name: no finding of a sanitizer" || diag "$(<"$T/$name.talk")" ;;
	esac
}

# seen NAME FILTER: apply jq's FILTER to each event, and sort
seen()
{
	jq -rc "$2" "$T/$1.events" | sort
}

# events_of NAME PID: the events of a process, as "KIND OK FILE BYTES"
row='"\(.kind) \(.ok) \(.file) \(.bytes)"'
events_of()
{
	seen "$1" "select(.pid == $2) | $row"
}

# --- dumpers ------------------------------------------------------------------------------

# start_dumper NAME: start a program of tests/target/dumper.c, which reads orders from
# $T/orders.$pid
orders=0
start_dumper()
{
	local fifo

	orders=$((orders + 1))
	fifo=$T/orders.$orders
	mkfifo -m 666 "$fifo"
	install -m 666 /dev/null "$fifo.said"
	start_victim "$1" "${folder:-$T}/orders.$orders"
	mv "$fifo" "$T/orders.$pid"
	mv "$fifo.said" "$T/said.$pid"
}

# tell PID ORDER...: give an order, without waiting for the answer
tell()
{
	local to=$1

	shift
	echo "$*" >"$T/orders.$to"
}

answers_of()
{
	wc -l <"$T/said.$1"
}

has_answered()
{
	[ "$(answers_of "$1")" -ge "$2" ]
}

# order PID ORDER...: give an order, and wait for the answer. Sets `answer`.
order()
{
	local to=$1 before

	shift
	before=$(answers_of "$to")
	tell "$to" "$@"
	within 60 has_answered "$to" $((before + 1)) || bail_out "process $to does not answer to: $*"
	answer=$(tail -n 1 "$T/said.$to")
}

# Few samples mean few stacks: otherwise a dump at a new maximum may hang it. See
# tests/gate/gdump.t.
few_stacks()
{
	run_ctl reset "$pid" --lg-sample 19
	[ "$status" -eq 0 ] || bail_out "the rate of samples cannot be set: $err"
}

# --- expected events ----------------------------------------------------------------------

# dumped_bytes FILE: print its size, without what jeprof-ctl appended
dumped_bytes()
{
	grep -v '^# ' "$1" | wc -c
}

# rows_of FILE...: print the expected events of these dumps. The names that jemalloc gives them show
# the kind. $folder is $T as seen by the process.
rows_of()
{
	local file kind

	for file; do
		case ${file##*/} in
		*.[0-9]*.i[0-9]*.heap) kind=interval ;;
		*.[0-9]*.u[0-9]*.heap) kind=gdump ;;
		*.[0-9]*.f.heap) kind=final ;;
		*) kind=manual ;;
		esac
		echo "$kind true ${folder:-$T}${file#"$T"} $(dumped_bytes "$file")"
	done | sort
}

# note_early FILE...: note files that exist when a watch has just begun. As an idle redis-server
# still allocates, the watch may or may not have seen them. without_early filters them out.
note_early()
{
	local file

	for file; do
		[ ! -e "$file" ] || rows_of "$file"
	done >"$T/early"
}

without_early()
{
	grep -vxF -f "$T/early"
}
