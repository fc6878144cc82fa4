#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command line: what it accepts and refuses; help, manual and completion must be complete.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

usual=("${patient[@]}")
patient=()
commands='list help completion check enable disable status activate deactivate dump prefix reset gdump stats get set threads report convert version record diff leaks bundle undo sample sites watch guard serve'

# --- help ---
ctl_ok 'help' --help
for c in $commands; do
	like "$out" "(^|[[:space:]])$c([[:space:]]|\$)" "help names $c"
done
help=$out
for c in $commands; do
	ctl_ok "help of $c" "$c" --help
	like "$out" "[Uu]sage:? .*$c" "help of $c shows its usage"
	help+=$'\n'$out
done
ctl_ok 'help, as a command' help
like "$out" $'\n\nProfile a process in one step:\n  record ' 'help, as a command: in groups'
for c in $commands; do
	ctl_ok "help $c" help "$c"
	is "$out" "$("$CTL" "$c" --help)" "help $c: as --help"
done
ctl_fails 2 'command_unknown did_you_mean' 'help of an unknown command' help dmup
like "$err" 'did you mean dump' 'help of an unknown command: the right one is suggested'
ctl_ok '-h' -h
ctl_ok '-V' -V
like "$out" '^jeprof-ctl [0-9]+\.[0-9]+' '-V'
version=$out
ctl_ok 'version' version
is "$out" "$version" 'version says the same'
ctl_ok 'version --json' version --json
like "$(json .version)" '^[0-9]+\.[0-9]+' 'version --json'

# --- the manual has every option and every command ---
manual=doc/jeprof-ctl.8
like "$(mandoc -T lint -W error "$manual" 2>&1)" '^$' 'the manual has no errors'
page=$(mandoc -T ascii "$manual" | col -b)
mapfile -t options < <(grep -oE -- '--[a-z][a-z-]+' <<<"$help" | sort -u)
ok 'help shows options' test "${#options[@]}" -gt 8
for o in "${options[@]}" $commands; do
	ok "the manual has $o" grep -qE -- "(^|[^a-z-])$o([^a-z-]|\$)" <<<"$page"
done
for s in 0 1 2 3 4 5 6 7 8 9 10; do
	ok "the manual has exit status $s" grep -qE "^ +$s +" <<<"$page"
done

# --- completion ---
for shell in bash zsh fish; do
	ctl_ok "completion $shell" completion "$shell"
	like "$out" 'deactivate' "completion $shell knows the commands"
	like "$out" 'lg-sample' "completion $shell knows the options"
	like "$out" 'callgrind' "completion $shell knows the formats"
done
ctl_ok 'completion bash' completion bash
ok 'completion bash is bash' bash -n "$T/out"
formats=$(bash -c '. "$1"; COMP_WORDS=(jeprof-ctl report -f ""); COMP_CWORD=3; _jeprof_ctl; echo "${COMPREPLY[@]}"' sh "$T/out")
like "$formats" '^text .* raw$' 'completion bash: the formats of report'
for format in $formats; do
	ctl_fails 1 'in_file profile_empty' "completion bash: $format is a format" report -f "$format" /dev/null
done
if command -v zsh >/dev/null; then
	"$CTL" completion zsh >"$T/zsh"
	ok 'completion zsh is zsh' zsh -n "$T/zsh"
fi
ctl_fails 2 'no_completion choose_shell' 'completion for an unknown shell' completion tcsh

# --- usage errors: status 2, with a message, and nothing on standard output ---
# refused IDS ARGUMENTS...: they must be refused
refused()
{
	ctl_fails 2 "$1" "refused: ${*:2}" "${@:2}"
}
refused 'command_missing see_help'
refused 'command_unknown see_help' nonsense
refused 'command_unknown did_you_mean' activat
like "$err" 'activate' 'a near miss names what was meant'
refused 'option_unknown see_help' --nonsense
refused 'needs_process give_a_process' activate
refused 'in_pid not_in_range' activate abc
refused 'in_pid not_in_range' activate 0
refused 'in_pid not_in_range' activate 1x
refused 'in_pid not_in_range' activate 99999999999999999999
refused option_needs_argument activate -p
refused 'word_too_many see_command_help' explain 1 2
refused 'in_pid not_in_range' activate 1 x
refused 'option_unknown see_command_help' activate 1 --nonsense
refused 'option_unknown did_you_mean' activate 1 --jsno
refused 'option_unknown did_you_mean' record 1 --duratoin=3s
like "$err" 'did you mean --duration' 'a near miss names the option that was meant'
refused 'option_unknown did_you_mean' report --svg x
refused option_needs_argument activate 1 --timeout
refused 'in_option not_a_value' activate 1 --timeout soon
refused 'in_option not_a_value' activate 1 --timeout -5
refused choice_unknown activate 1 --mode quick
refused 'choice_unknown did_you_mean' activate 1 --mode tread
refused choice_unknown activate 1 --color maybe
refused option_takes_no_argument activate 1 --json=yes
refused 'word_too_many see_command_help' explain 1 --comm x
refused exclusive activate --pid 1 --comm x
refused exclusive activate --pid 1 --cgroup x
refused 'word_too_many' check 1 2 --conf prof:true
refused 'option_unknown see_command_help' activate 1 -o file
refused option_needs_argument dump 1 -o
refused exclusive dump 1 -o x --in-target
refused 'argument_missing see_command_help' prefix 1
refused 'in_option not_in_range' reset 1 --lg-sample x
refused lg_sample_range reset 1 --lg-sample 64
refused exclusive reset 1 --lg-sample 3 --sample-rate 8
refused 'sample_rate_no_power use_a_power' reset 1 --sample-rate 3K
refused 'in_option must_be_more_than_0' reset 1 --sample-rate 0
refused 'in_option must_be_more_than_0' leaks a b c --limit 0
refused 'in_option must_be_more_than_0' activate 1 --timeout 0
refused 'in_option must_be_more_than_0' activate 1 --max-pause 0s
refused 'in_option must_be_more_than_0' watch --for 0
refused sample_rate_range sample 1 --sample-rate 4095
refused sample_rate_range sample 1 --sample-rate 2T
refused min_age_too_long sample 1 --min-age 30s
refused 'in_option must_be_more_than_0' sample 1 --max-overhead 0
refused 'in_option not_a_value' reset 1 --sample-rate 99999999999999999999T
refused 'argument_missing see_command_help' gdump 1
refused not_on_or_off gdump 1 maybe
refused choice_unknown stats 1 -f yaml
refused 'argument_missing see_command_help' get 1
refused 'argument_missing see_command_help' set 1
refused name_needs_value set 1 prof.active
refused 'word_too_many see_command_help' set 1 prof.active true false
refused no_such_user list --uid no-such-user
refused list_takes_no_pid list --pid 1
refused exclusive report --comm x file
refused 'argument_missing see_command_help' report
refused save_is_for_process report --save x file
refused 'takes_no_process see_command_help' diff --comm x file file
like "$err" 'diff takes no process' 'a selection that would be ignored is refused'
run_ctl convert --json in out.svg
like "$(json .error.message)" 'convert has no --json' 'convert: --json is refused by name'
run_ctl activate $'\e[31m\x07'
is "$status" 2 'control characters are refused'
unlike "$err" $'[\e\x07]' 'control characters are not printed'

run_ctl nonsense --json
is "$status" 2 '--json: a usage error'
is "$(json .error.code)" usage '--json: its code'
like "$(json .error.message)" 'nonsense' '--json: its message'
run_ctl dump 1 -o - --json
is "$status" 2 '--json and -o - are mutually exclusive'

# --- a name with control characters ---
patient=("${usual[@]}")
export MALLOC_CONF=$PROF
cp "$VICTIMS/idle" "$T/"$'a\e[31m\nb'
start_victim "$T/"$'a\e[31m\nb'
snapshot "$pid"
for c in list check status activate deactivate; do
	if [ "$c" = list ]; then run_ctl list; else run_ctl "$c" "$pid" --color never; fi
	is "$status" 0 "$c: a name with control characters" || diag "$err"
	unlike "$out$err" $'\e' "$c: they are not printed"
done
ctl_ok 'list --json' list --json
ok 'list --json is JSON' jq -e . "$T/out"
ctl_ok 'status --json' status "$pid" --json
ok 'status --json is JSON' jq -e . "$T/out"
ctl_ok 'dump -q' dump "$pid" -o "$T/x.heap" -q
is "$out" "$T/x.heap" '-q prints the name alone'
is "$err" '' '-q prints nothing else'

# --- valid options ---
ctl_ok 'options before a command' --json --timeout 30s --max-pause 5000 --mode thread status "$pid"
ctl_ok 'options after a command' status "$pid" --timeout 1m30s --json
ctl_ok '--timeout=D' status "$pid" --timeout=5mins
ctl_ok '--color always' status "$pid" --color always
like "$out" $'\e\\[' '--color always colours'
export NO_COLOR=1
ctl_ok 'NO_COLOR' status "$pid" --color auto
unlike "$out" $'\e' 'NO_COLOR disables colours'
unset NO_COLOR
ctl_ok '-v' activate "$pid" -v
like "$err" '.' '-v prints messages'
ctl_ok 'list for people' list
like "$out" "$pid" 'list: it has the victim'
assert_untouched "$pid"

done_testing
