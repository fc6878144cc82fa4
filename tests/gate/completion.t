#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Completion, as bash requests it. No name of a process, unit or container may be evaluated.
# tests/system/completion.t types in the shells.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF
for shell in bash zsh fish; do
	"$CTL" completion "$shell" >"$T/$shell"
	ok "$shell accepts the script" "$shell" -n "$T/$shell"
done

# offered PROGRAM WORD...: print what is offered for the last word, on one line
offered()
{
	# shellcheck disable=SC2016 # the inner shell's
	(cd "$T/folder" && bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _jeprof_ctl
		((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}"' "$T/bash" "$@" 2>&1 | sort | paste -sd ' ')
}

mkdir "$T/folder"
touch "$T/folder/a.heap" "$T/folder/b c.heap"
# A shell would run this if it evaluated the name.
name='$(>here)'
cp "$VICTIMS/idle" "$T/$name"
start_victim "$T/$name"
hostile=$pid
start_victim idle
other=$pid
snapshot "$hostile"
snapshot "$other"
both=$(printf '%s\n' "$hostile" "$other" | sort | paste -sd ' ')

is "$(offered "$CTL" deac)" deactivate 'a command'
is "$(offered "$CTL" help deac)" deactivate 'a command, after help'
is "$(offered "$CTL" completion '')" 'bash fish zsh' 'a shell'
like "$(offered "$CTL" record --dur)" '^--duration$' 'an option'
like "$(offered "$CTL" report -f '')" 'callgrind .* svg' 'a format'
is "$(offered "$CTL" list --sort '')" 'pid rss' 'a choice'
is "$(offered "$CTL" status '')" "$both" 'only pids of processes with jemalloc'
is "$(offered "$CTL" status "$other" '')" "$both" 'another pid'
is "$(offered "$CTL" status --children "${other:0:2}")" "$(printf '%s\n' "$both" | tr ' ' '\n' | grep "^${other:0:2}" | paste -sd ' ')" \
	'pids that begin with the word'
is "$(offered "$CTL" status --comm '')" '\$\(\>here\) idle' 'names, quoted'
is "$(offered "$CTL" status --comm '\$\(')" '\$\(\>here\)' 'a partly typed name, quoted'
is "$(offered "$CTL" status --comm = '')$(offered "$CTL" status --comm =)" '\$\(\>here\) idle\$\(\>here\) idle' '--comm=NAME'
is "$(offered "$CTL" diff '')" 'a.heap b c.heap' 'files'
is "$(offered "$CTL" report '')" "$both a.heap b c.heap" 'processes and files'
is "$(offered "$CTL" dump "$other" -o a)" a.heap 'a file for an option'
like "$(offered "$CTL" bundle '')" "$other.*a.heap" 'pids and files'
is "$(offered "$CTL" list '')" '' 'a command without arguments'
assert_untouched "$hostile"
assert_untouched "$other"

# The output of list: each line is a word, and none is evaluated.
cat >"$T/said" <<'SH'
#!/bin/sh
[ "$*" = '-q list -o unit' ] && printf '%s\n' UNIT - 'a b.service' '`>here`.scope' '$(>here).service' '*' "'"
SH
chmod +x "$T/said"
wanted='\$\(\>here\).service '"\\'"' \* \`\>here\`.scope a\ b.service'
is "$(offered "$T/said" status --cgroup '')" "$wanted" 'units, quoted'
is "$(find "$T" -name here)" '' 'no name was evaluated'

# The same for systemctl, whose lines begin with a name.
cat >"$T/systemctl" <<'SH'
#!/bin/sh
printf '%s loaded active running Some Text\n' a.service 'a@x.service' '`>here`.service' 'a\x20b.service'
SH
chmod +x "$T/systemctl"
path=$PATH
PATH=$T:$PATH
is "$(offered "$CTL" enable '')" '\`\>here\`.service a.service a@x.service a\\x20b.service' 'units, quoted'
is "$(offered "$CTL" disable a@)" a@x.service 'units that begin with the word'
is "$(find "$T" -name here)" '' 'no name was evaluated'
rm "$T/systemctl"
PATH=$path

# If there is no answer, nothing is offered.
printf '#!/bin/sh\necho PID; echo no >&2; exit 1\n' >"$T/said"
is "$(offered "$T/said" status '')" '' 'list fails'
printf '#!/bin/sh\nexec sleep 1000\n' >"$T/said"
is "$(offered "$T/said" status '')" '' 'list hangs'
is "$(offered no-such-program status '')" '' 'there is no such program'

done_testing
