# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Profiles that are made by hand, of the names in `functions`. Sourced after lib.sh.

functions=()

# made FILE STACK...: a profile with its names. A stack is "OBJECTS BYTES FUNCTION...", the
# innermost first, by number; all samples are of objects much larger than the rate.
made()
{
	local file=$1 stack counts at i

	shift
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
			printf '\n  t*: %d: %d [0: 0]\n' "${counts[0]}" "${counts[1]}"
		done
		printf '\nMAPPED_LIBRARIES:\n401000-402000 r-xp 1000 0:0 1 /bin/made\n'
	} >"$T/$file"
}
