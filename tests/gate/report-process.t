#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report of a process: it dumps, shows the profile immediately, and saves it only on request.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:12 start_redis
load_redis 5000
here=$T/here
mkdir "$here"
runner=(env -C "$here")
snapshot "$pid"
ctl_ok 'a process' report "$pid"
like "$out" "^inuse_space of redis-server \($pid\): " 'a process: its name and pid'
like "$out" ' createStringObject'$'\n' 'a process: what holds the memory'
like "$err" 'stopped one thread' 'a process: the cost is reported'
is "$(ls -A "$here")" '' 'a process: no file is left'
assert_untouched "$pid" 'a process: it is untouched'

snapshot "$pid"
ctl_ok '--comm' report --comm redis-server --json
is "$(json .pid)" "$pid" '--comm: the right process'
ctl_ok '--children' report --children "$pid" --json
is "$(json .pid)" "$pid" '--children: the right process'
ctl_ok '--pid, and a format' report --pid "$pid" -f folded -o out.folded
like "$(<"$here/out.folded")" 'createStringObject' '--pid, and a format: it is written'
ctl_ok '--save' report "$pid" --save kept.heap
cp "$T/out" "$T/first"
like "$(head -c 8 "$here/kept.heap")" '^heap_v2/' '--save: the profile is kept'
ctl_ok 'the same from the file' report kept.heap
is "$out" "$(<"$T/first")" 'the same from the file: no difference'
ctl_ok '--base' report "$pid" --base kept.heap
like "$out" '% of the sum of all absolute changes' '--base: what has grown since'
is "$(ls -A "$here")" $'kept.heap\nout.folded' 'no other file is left'
assert_untouched "$pid" '--comm, --pid, --save: it is untouched'

# --- refusals come before the process is touched ---
snapshot "$pid"
ctl_fails 10 'output_exists choose_or_force' 'an output that exists' report "$pid" -o out.folded
ctl_fails 10 'output_exists choose_or_force' 'a profile that exists' report "$pid" --save kept.heap
ctl_fails 2 pattern_malformed 'a wrong expression' report "$pid" --focus '('
ctl_fails 2 format_unknown 'an unknown format' report "$pid" -f nonsense
ctl_fails 2 exclusive 'a process and a file' report --pid "$pid" kept.heap
ctl_fails 2 exclusive 'processes and a file' report --children "$pid" kept.heap
ctl_fails 3 no_process 'no such process' report 4194304
ctl_fails 1 'in_file file_unopened' 'two arguments are files' report "$pid" 4194304
assert_untouched "$pid" 'refusals leave it untouched'

# --- a file named like a process ---
cp "$here/kept.heap" "$here/$pid"
snapshot "$pid"
ctl_ok 'both' report ./"$pid"
unlike "$err" 'taken for|stopped' 'both: a path means the file'
mv "$here/$pid" "$here/0$pid"
ctl_ok 'both, with a leading zero' report "0$pid"
unlike "$err" stopped 'both, with a leading zero: it is the file'
mv "$here/0$pid" "$here/$pid"
assert_untouched "$pid" 'both: the process is not touched'
ctl_ok 'both, without a folder' report "$pid"
like "$err" stopped 'both, without a folder: a thread is stopped'
like "$err" "warning: $pid is taken as a process, not as the file" 'both, without a folder: it is the process, with a warning'
like "$err" "\\./$pid means the file" 'both, without a folder: and how to name the file'
ctl_ok 'both, for bundle' bundle "$pid" -o "$T/both.bundle.tar.gz"
like "$err" "warning: $pid is taken as a process, not as the file" 'both, for bundle: by the same rule'
assert_untouched "$pid" 'both, without a folder: it is untouched'
cp "$here/kept.heap" "$here/4194304"
ctl_fails 3 no_process 'a file of digits, and no such process: it is not the file' report 4194304

# --- several processes: added up ---
first=$pid
MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:12 start_redis
load_redis 3000
second=$pid
snapshot "$first"
snapshot "$second"
ctl_fails 2 'one_file save_to_folder' 'of two, to one file' report --comm redis-server --save two.heap
unlike "$err" stopped 'of two, to one file: no thread is stopped'
mkdir "$here/two"
ctl_ok 'of two' report --comm redis-server --save two/ -n 0
like "$out" '^inuse_space of redis-server, 2 processes: ' 'of two: the title says so'
cp "$T/out" "$T/first"
is "$(find "$here/two" -type f | wc -l)" 2 'of two: both profiles are kept'
ctl_ok 'of two, from their files' report "$here"/two/* -n 0
is "$(diff "$T/out" <(sed 's/, 2 processes:/:/' "$T/first"))" '' 'of two: the same from files'
ctl_ok 'of two, as JSON' report --comm redis-server --json
is "$(json '[.processes, .pid, .comm] | tostring')" '[2,null,"redis-server"]' 'of two, as JSON: one document'
MALLOC_CONF=prof:false start_redis
snapshot "$pid"
run_ctl report --comm redis-server --json
is "$status $(json .processes)" '6 2' 'one of three fails: the others are added up, and its reason is the status'
like "$err" "opt.prof is false in $pid .*1 of 3 processes failed: $pid \\(no_profiling\\)" 'one of three fails: the cause is reported'
run_ctl report --children "$$" --cgroup /nowhere
is "$status" 3 'no process matches'
# As if all had ended since they were found: the last inspection of the first one is for the dump.
traced=(strace -o "$T/trace" -e trace=pidfd_open -e signal=none)
runner+=("${traced[@]}")
run_ctl report --comm redis-server
nth=$(grep -n "pidfd_open($first," "$T/trace" | sed -n '$s/:.*//p')
runner+=(-e "inject=pidfd_open:error=ESRCH:when=$nth+")
run_ctl report --comm redis-server
is "$status $(grep -c "there is no process" "$T/err") $out" '3 3 ' 'all have ended meanwhile: an error for each, and no report'
like "$err" 'no process matches --comm redis-server' 'all have ended meanwhile: and one that nothing matches'
runner=(env -C "$here")
assert_untouched "$pid" 'the one that fails is untouched'
assert_untouched "$first" 'of two: the first is untouched'
assert_untouched "$second" 'of two: the second is untouched'

done_testing
