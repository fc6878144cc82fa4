#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/run itself: what is run once more and what never is, the summary at the end, and what a file
# of the gate has to itself.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

files=$ROOT/build/tried
mkdir -p "$files"
at_end+=('rm -rf "$files"' 'rm -rf build/logs/tried build/unsteady/tried')

# file NAME <BODY: write a test that notes each of its runs; $first is "yes" in the first one
file()
{
	{
		printf '#!/bin/bash\n. "%s/tests/lib.sh"\n' "$ROOT"
		printf 'first=yes; [ ! -e "%s" ] || first=no\necho >>"%s"\n' "$files/$1.runs" "$files/$1.runs"
		cat
		echo done_testing
	} >"$files/$1.t"
	chmod +x "$files/$1.t"
}

# tried STATUS REGEX NAME FILE...: run these files, and check the exit status and the output
tried()
{
	local want=$1 regex=$2 name=$3 said got

	shift 3
	rm -f "$files"/*.runs
	said=$(NAME=tried APART=${apart:-no} HARM='' tests/run gate "${@/#/$files/}" 2>&1)
	got=$?
	if [ "$got" -eq "$want" ] && [[ $said =~ $regex ]]; then
		result 0 "$name"
	else
		result 1 "$name" || diag "exit $got, wanted $want and /$regex/"$'\n'"$said"
	fi
}

ran()
{
	wc -l <"$files/$1.runs"
}

file good <<<'ok "it works" true'
file once <<<'ok "by the second time" test "$first" = no'
file other <<<'ok "by the second time" test "$first" = no'
file third <<<'ok "by the second time" test "$first" = no'
file never <<<'ok "it works" test 1 = 2 || diag "why it does not"'
tried 0 'tried: 1 passed, 0 failed$' 'what passes' good.t
tried 0 $'\nunsteady: [^\n]*once.t\nnot ok 1 - by the second time\n.*tried: 2 passed, 0 failed$' \
	'what passes the second time is unsteady, and named' good.t once.t
is "$(ran once) $(ran good)" '2 1' 'it runs once more, and no other does'
ok 'its log is kept' grep -q '^not ok 1' build/unsteady/tried/once.t.log
tried 1 $'\nfailed: [^\n]*never.t\nnot ok 1 - it works\n.*why it does not.*tried: 0 passed, 1 failed$' \
	'what fails twice has failed, and says why' never.t
is "$(ran never)" 2 'it has had its second try'
tried 0 'unsteady: .*unsteady: ' 'two may be unsteady' once.t other.t
tried 1 'failed: .*failed: .*failed: ' 'three may not' once.t other.t third.t
is "$(ran once)$(ran other)$(ran third)" 111 'and none of them runs once more'
file early <<<'[ "$first" = no ] || exit 0; ok "it works" true'
tried 0 'it ended after: ' 'a file that ends early has not passed' early.t

# --- harm, which would not show up the second time ---
file touched <<<'result "$([ "$first" = no ]; echo $?)" "the target is untouched"'
file left <<<'ok "no file is left" test "$first" = no'
file found <<<'[ "$first" = no ] || diag "==1==ERROR: AddressSanitizer: heap-use-after-free"; ok "it works" test "$first" = no'
file died <<<'start_victim idle; snapshot "$pid"; [ "$first" = no ] || { kill -KILL "$pid"; wait "$pid" 2>/dev/null; }
ok "it works" test "$first" = no'
file traced <<<'start_victim idle; snapshot "$pid"; [ "$first" = no ] || { strace -qq -o /dev/null -p "$pid" & own $!
within 60 grep -q "^TracerPid:.$!" "/proc/$pid/status"; }; ok "it works" test "$first" = no'
for harm in touched left found died traced; do
	tried 1 "harm, never retried: .*$harm.t" "harm ($harm)" "$harm.t"
	is "$(ran "$harm")" 1 "harm ($harm): it has one try"
done

# --- what a file has to itself ---
apart=yes
export OUTER=$T # that of this test
file alone <<'TEST'
is "$(ls -A /run | grep -vx mount)" '' '/run has nothing but what mount(8) notes'
ok '/tmp has nothing of others' test ! -e "$OUTER" -a ! -e /tmp/left
is "$(awk 'NR > 2 { sub(":.*", "", $1); print $1 }' /proc/net/dev)" lo 'loopback alone'
ok 'which is up' python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname())'
echo left | tee /run/left >/tmp/left
(setsid sleep 1000 >/dev/null 2>&1 </dev/null &)
(setsid bash -c 'sleep 0.01 & exec true') # an orphan, to be reaped
within 60 eval '! grep -qs "^State:.Z" /proc/[0-9]*/status' && result 0 'a process left behind is reaped'
TEST
tried 0 'tried: [0-9]+ passed, 0 failed$' 'a file of the gate is alone' alone.t
tried 0 'tried: [0-9]+ passed, 0 failed$' 'and finds nothing of the previous run' alone.t

done_testing
