#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A profile is written completely or not at all, and never over an existing file.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

MALLOC_CONF=prof:true,lg_prof_sample:8 start_victim busy 2
snapshot "$pid"

echo precious >"$T/exists.heap"
ctl_fails 10 'output_exists choose_or_force' 'a file that exists is refused' dump "$pid" -o "$T/exists.heap"
like "$err" 'fix:.*--force' 'the fix is --force'
is "$(<"$T/exists.heap")" precious 'the file is unchanged'
ctl_ok '--force replaces it' dump "$pid" -o "$T/exists.heap" --force
ok 'now it is a profile' is_profile "$T/exists.heap"

ctl_fails 10 'output_failed name_a_folder' 'a folder that does not exist' dump "$pid" -o "$T/no-such-folder/x.heap"
like "$err" 'no-such-folder' 'a folder that does not exist: it is named'
ctl_fails 10 'output_is_folder choose_another_name' 'a folder instead of a file' dump "$pid" -o "$T"

mkdir "$T/target"
ln -s "$T/target/planted" "$T/link.heap"
run_ctl dump "$pid" -o "$T/link.heap"
is "$status" 10 'a dangling link counts as an existing file' || diag "$err"
ok 'nothing was written through the link' test ! -e "$T/target/planted"

# No space: a file system of one page, which only jeprof-ctl sees.
mkdir "$T/small"
timeout 60 unshare -m --propagation private bash -c "
	mount -t tmpfs -o size=4k none '$T/small' || exit 99
	'$CTL' ${patient[*]} dump $pid -o '$T/small/x.heap' >'$T/out' 2>'$T/err'
	echo \$? >'$T/status'
	ls -A '$T/small' >'$T/left'" </dev/null
is "$(<"$T/status")" 10 'no space: exit status' || diag "$(<"$T/err")"
like "$(<"$T/err")" '[Nn]o space' 'no space: the cause is reported'
is "$(<"$T/left")" '' 'no space: no file is left'

"$CTL" "${patient[@]}" dump "$pid" -o - >/dev/full 2>"$T/err"
is "$?" 10 'standard output is full: exit status'
like "$(<"$T/err")" '[Nn]o space' 'standard output is full: the cause is reported'
"$CTL" "${patient[@]}" dump "$pid" -o - >&- 2>"$T/err"
is "$?" 10 'standard output is closed: exit status' || diag "$(<"$T/err")"
"$CTL" "${patient[@]}" status "$pid" >/dev/full 2>"$T/err"
is "$?" 10 'status to a full device: exit status' || diag "$(<"$T/err")"
# Python ignores SIGPIPE, so that the error is visible; in a shell, the signal would end it.
python3 - "$CTL" "${patient[@]}" dump "$pid" -o - 2>"$T/err" <<'END'
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
sys.exit(subprocess.run(sys.argv[1:], stdout=writer, restore_signals=False).returncode)
END
is "$?" 10 'a reader that went away: exit status' || diag "$(<"$T/err")"

script -qec "$CTL ${patient[*]} dump $pid -f pprof -o -" /dev/null </dev/null >"$T/out" 2>&1
is "$?" 2 'pprof to a terminal: exit status'
like "$(<"$T/out")" 'refusing to write pprof to a terminal' 'pprof to a terminal: refused'

mkdir "$T/closed"
chmod 755 "$T/closed"
MALLOC_CONF=$PROF
export MALLOC_CONF
wrap=(setpriv --reuid 65534 --regid 65534 --clear-groups)
start_victim idle
wrap=()
nobodys=$pid
snapshot "$nobodys"
setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
	"$CTL" "${patient[@]}" dump "$nobodys" -o "$T/closed/x.heap" >"$T/out" 2>"$T/err" </dev/null
is "$?" 10 'an unwritable folder: exit status' || diag "$(<"$T/err")"
like "$(<"$T/err")" '[Pp]ermission denied|not writable' 'an unwritable folder: the cause is shown'
is "$(ls -A "$T/closed")" '' 'an unwritable folder: it is empty'
assert_untouched "$nobodys" 'the target of user nobody is untouched'

# Killed at any moment: the file is a complete profile, or there is none.
pid=${started[0]}
left=0 complete=0 odd=0
for _ in $(seq 30); do
	"$CTL" "${patient[@]}" dump "$pid" -o "$T/killed.heap" >/dev/null 2>&1 &
	ctl=$!
	sleep "0.0$((RANDOM % 60 + 10))"
	end_child "$ctl" -KILL
	wait "$ctl" 2>/dev/null
	if [ -e "$T/killed.heap" ]; then
		is_profile "$T/killed.heap" && complete=$((complete + 1)) || odd=$((odd + 1))
		rm -f "$T/killed.heap"
	else
		left=$((left + 1))
	fi
done
diag "killed 30 times: $complete complete profiles, $left times none"
is "$odd" 0 'killed midway: never a partial profile'
is "$(find "$T" -maxdepth 1 -name '*killed*' | wc -l)" 0 'killed midway: nothing else is left'
assert_untouched "$pid"

done_testing
