# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The rows of check. Sourced after tests/lib.sh.

# row NAME FIELD: a field of a row of the last check --json
row()
{
	json ".checks[] | select(.name == \"$1\").$2"
}

# row_is NAME OK REGEX WHAT [FIX]: check the row's verdict, and its detail and fix by regexes;
# without FIX it has none
row_is()
{
	is "$(row "$1" ok)" "$2" "$4: $1" || diag "$(row "$1" detail)"
	like "$(row "$1" detail)" "$3" "$4: $1: the detail"
	if [ -n "${5:-}" ]; then
		like "$(row "$1" fix)" "$5" "$4: $1: the fix"
	else
		is "$(row "$1" fix)" null "$4: $1: no fix"
	fi
}

# checked: run check on the victim just started
checked()
{
	snapshot "$pid"
	run_ctl check "$pid" --json
}

left()
{
	assert_untouched "$pid" "$1: untouched"
	stop_target "$pid"
}
