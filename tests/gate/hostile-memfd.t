#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A target puts another file, which only root may read, at the descriptor of the memory file that is
# to receive its answer: jeprof-ctl neither opens that file nor shows it, whenever that happens.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
install -m 755 "$VICTIMS/swapper" "$T/"
mkdir -m 755 "$T/private"
printf 'heap_v2/1\n  t*: 1: 1 [0: 0]\n\nMAPPED_LIBRARIES:\nsecret\n' >"$T/private/file"
mkfifo "$T/private/fifo"
mknod "$T/private/device" c 1 3
: >"$T/private/fence"
chmod 600 "$T/private"/*
cp "$T/private/file" "$T/file.before"

# Every open(2) of these is recorded.
tests/drivers/opened "$T/private"/{file,fifo,device,fence} >"$T/opened" &
own $!
within 60 grep -q ready "$T/opened" || bail_out 'nothing watches the files'
seen=1
fences()
{
	grep -c '/fence$' "$T/opened"
}
# Events are in order: what was opened before the fence is reported before it.
opened()
{
	local told

	told=$(fences)
	: <"$T/private/fence"
	within 60 eval '[ "$(fences)" -gt '"$told"' ]'
	tail -n "+$((seen + 1))" "$T/opened" | sed 's:.*/::' | grep -v '^fence$' | sort -u | xargs
}
forget()
{
	seen=$(wc -l <"$T/opened")
}

# start_swapper WHEN KIND: start it. Sets `pid`.
start_swapper()
{
	"${nobody[@]}" "$T/swapper" "$1" "$T/private/$2" &
	pid=$!
	own "$pid"
	within 60 grep -q '^34 ' "/proc/$pid/syscall" || bail_out 'the attacker did not start'
	forget
}

is "$("${nobody[@]}" cat "$T/private/file" 2>/dev/null)" '' 'the attacker may not read the file itself'
cat "$T/private/file" >/dev/null
is "$(opened)" file 'control: an open is detected'

# If it does not swap files, such a program is served.
start_swapper never file
ctl_ok 'no swap: dump' dump "$pid" -o "$T/none.heap"
ok 'no swap: a profile' is_profile "$T/none.heap"
ctl_ok 'no swap: statistics' stats "$pid" -f json
is "$(json .jemalloc.version)" 5.3.0 'no swap: statistics as written'
stop_target "$pid"

for kind in file fifo device; do
	start_swapper before "$kind"
	ctl_fails 1 'file_replaced distrust' "$kind, before the check: dump" dump "$pid" -o "$T/swap.heap"
	ctl_fails 1 'file_replaced distrust' "$kind, before the check: stats" stats "$pid" -f text
	run_ctl bundle "$pid" -o "$T/swap.tar.gz"
	is "$(tar xzOf "$T/swap.tar.gz" 2>/dev/null | grep -c secret)" 0 "$kind, before the check: not in the bundle"
	is "$(opened)" '' "$kind, before the check: it was not opened"
	stop_target "$pid"

	# The file that is read is the one that we created; it is empty.
	start_swapper after "$kind"
	ctl_fails 1 dump_no_profile "$kind, after the check: dump" dump "$pid" -o "$T/swap.heap"
	like "$err" '\(0 bytes\)' "$kind, after the check: the file read is empty"
	run_ctl stats "$pid" -f text
	is "$status:$out" 1: "$kind, after the check: stats"
	rm -f "$T/swap.tar.gz"
	run_ctl bundle "$pid" -o "$T/swap.tar.gz"
	is "$(tar xzOf "$T/swap.tar.gz" 2>/dev/null | grep -c secret)" 0 "$kind, after the check: not in the bundle"
	is "$(opened)" '' "$kind, after the check: it was not opened"
	stop_target "$pid"
done
ok 'no profile is left' test ! -e "$T/swap.heap"
ok 'the file is as it was' cmp "$T/private/file" "$T/file.before"

# Control: a build that opens by the number shows the file.
CTL=$ROOT/build/tests/careless/jeprof-ctl-memfd
for when in before after; do
	start_swapper "$when" file
	run_ctl stats "$pid" -f text
	like "$out" secret "control: $when: opened by its number, root's file is shown"
	is "$(opened)" file "control: $when: the open is detected"
	stop_target "$pid"
	start_swapper "$when" device
	run_ctl stats "$pid" -f text
	is "$(opened)" device "control: $when: a device is opened"
	stop_target "$pid"
done

done_testing
