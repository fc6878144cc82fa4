#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Life and death: the target exits, is killed or becomes another program at any moment of a run.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

rounds=$([ -n "${LONG:-}" ] && echo 300 || echo 30)
export MALLOC_CONF=prof:true,prof_active:false
tests/drivers/life "$CTL" "$VICTIMS/mortal" "$rounds" "$T" >"$T/life" 2>"$T/life.err"
status=$?
is "$status" 0 "exit, exec and kill, $rounds times each: true exit statuses, nothing left behind"
[ "$status" -eq 0 ] || diag "$(<"$T/life.err")"
diag "$(<"$T/life")"
like "$(<"$T/life")" '(exit|kill|exec) [89]' 'some ended in the middle of an injection'

done_testing
