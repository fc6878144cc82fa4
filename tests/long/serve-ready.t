#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: a program that should speak HTTP but never begins is not waited for forever (a minute).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh

touch "${FRONT%/*}/UNREADY"
use_false_front
"$CTL" serve --socket "$T/main.sock" --runs none 2>"$T/main.err" </dev/null &
serve=$!
own "$serve"
hears '^began'
within 180 eval "! kill -0 $serve"
status=0
wait "$serve" || status=$?
is "$status" 1 'it ends'
like "$(<"$T/main.err")" 'exited before it was ready \(signal Killed\)' 'the cause is reported'

done_testing
