# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Synthetic profiles with the names in `functions`. Sourced after lib.sh.

functions=()

# made_as FILE COUNTS STACK...: write a profile with these names. A stack is "OBJECTS BYTES
# FUNCTION...", with function numbers, innermost first; COUNTS is the format of the counts.
made_as()
{
	local file=$1 format=$2 stack counts at i

	shift 2
	{
		printf -- '--- symbol\nbinary=/bin/made\n'
		for i in "${!functions[@]}"; do
			printf '0x%016x %s\n' $((0x401100 + 16 * i - 1)) "${functions[i]}"
		done
		printf -- '---\n--- heap\nheap_v2/1\n  t*: 0: 0 [0: 0]\n'
		for stack; do
			read -r -a counts <<<"$stack"
			printf '@'
			for at in "${counts[@]:2}"; do
				printf ' 0x%x' $((0x401100 + 16 * at))
			done
			# shellcheck disable=SC2059 # it is a format
			printf "\n  t*: $format\n" "${counts[0]}" "${counts[1]}"
		done
		printf '\nMAPPED_LIBRARIES:\n401000-402000 r-xp 1000 0:0 1 /bin/made\n'
	} >"$T/$file"
}

# made FILE STACK...: a profile of memory in use. Objects are much larger than the rate, so all are
# sampled.
made()
{
	made_as "$1" '%d: %d [0: 0]' "${@:2}"
}

# made_sites FILE PID SECONDS STACK...: allocations, as written by `sites`, with one sample per KiB.
# OBJECTS are samples.
made_sites()
{
	made_as "$1" '0: 0 [%d: %d]' "${@:4}"
	printf '# pid %d\n# comm made\n# host db7\n# version 5.3.0\n# time_ns 1700000000000000000\n' "$2" >>"$T/$1"
	printf '# duration_ns %d\n# counts alloc_space\n# sample_bytes 1024\n' $(($3 * 1000000000)) >>"$T/$1"
}

# made_large STACKS: print a profile of that many stacks of distinct functions without names
made_large()
{
	printf 'heap_v2/524288\n  t*: %d: %d [0: 0]\n' "$1" "$1"
	seq "$1" | awk '{ printf "@ 0x%x 0x%x 0x%x\n  t*: 1: 1 [0: 0]\n", $1 * 4096, $1 * 8192 + 1, $1 * 16384 + 2 }'
	printf '\nMAPPED_LIBRARIES:\n'
}
