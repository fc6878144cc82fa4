# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # what is used by the tests; pid is set by lib.sh
# What record shows on a terminal. Sourced after tests/lib.sh.

# What is allocated now takes a stop to know: a series asks with each dump, and else it is asked for
# every five seconds, but only when somebody looks.
rss='RSS [0-9.]+[KMG]? \([-+]'
first='allocated [0-9.]+[KMG]? at first' now='allocated [0-9.]+[KMG]? \([-+][0-9.]+[KMG]?\)'

# on_terminal COLUMNS ARGUMENTS...: what it shows of `pid`, in $T/ttyCOLUMNS
on_terminal()
{
	local columns=$1

	shift
	script -qec "stty cols $columns; $CTL ${patient[*]} record $pid -o $T/tty$columns.heap $*" /dev/null \
		</dev/null >"$T/tty$columns" 2>&1
}
