#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Threads that are blocked in a system call: whatever we do to them, even if we are killed
# meanwhile, the call returns the same result at the same time as without us.
# tests/drivers/calls-matrix has the details, and the control that shows that the test notices harm.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF
matrix=$ROOT/tests/drivers/calls-matrix
(cd "$T" && "$matrix" "$CTL" "$VICTIMS/calls" "$VICTIMS/attach" "$T/table") >"$T/cases" 2>"$T/matrix.err"
is $? 0 'the matrix ran to completion' || diag "$(tail -n 20 "$T/matrix.err")"

while read -r verdict name why; do
	case $verdict in
	ok) result 0 "$name" ;;
	skip) skip 'the kernel does not have this system call' "$name" ;;
	*) result 1 "$name" || diag "$why" ;;
	esac
done <"$T/cases"
diag "$(<"$T/table")"
like "$(grep '^kills' "$T/table")" ': [1-9]' 'some kills hit a stopped thread'
like "$(wc -l <"$T/cases")" '^([4-9][0-9]|[1-9][0-9][0-9])$' 'forty calls or more'

done_testing
