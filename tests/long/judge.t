#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/refusals runs, and its judge is right where the answer is known: refusals are justified in
# programs that only allocate, and an unjustified refusal, or a thread that is wrongly called safe,
# is detected.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# judged LIE PROGRAM...: write the tables to $T/tables
judged()
{
	LOOKED_LIE=$1 RUNS=1 bench/refusals "${@:2}" >"$T/tables" 2>&1 || bail_out "bench/refusals: $(<"$T/tables")"
}

# of PROGRAM COLUMN: print a number of the second table
of()
{
	awk -F ' *[|] *' -v name="$1" -v column="$2" '
		/^[|] program/ { for (i = 2; i < NF; i++) at[$i] = i }
		at[column] && $2 == name { print $at[column] }' "$T/tables"
}

judged '' idle busy stacks_coroutine
for program in busy 'stacks coroutine'; do
	like "$(of "$program" refused)" '^[1-9]' "$program: some are refused" || diag "$(<"$T/tables")"
	is "$(of "$program" justified)" "$(of "$program" refused)" "$program: all of them justified" || diag "$(<"$T/tables")"
done
for program in idle busy; do
	like "$(of "$program" borrowed)" '^[1-9]' "$program: some are borrowed" || diag "$(<"$T/tables")"
	is "$(of "$program" 'of them wrongly')" 0 "$program: none of them by mistake" || diag "$(<"$T/tables")"
done

# The controls: wrong verdicts are detected.
judged refused idle
like "$(of idle 'not justified')" '^[1-9]' 'control: refused without a reason' || diag "$(<"$T/tables")"
# Even an idle program allocates now and then.
ok 'control: hardly any of them justified' test "$(($(of idle justified) * 20))" -lt "$(of idle refused)" ||
	diag "$(<"$T/tables")"
judged safe busy
like "$(of busy 'of them wrongly')" '^[1-9]' 'control: called safe in the middle of malloc' || diag "$(<"$T/tables")"

done_testing
