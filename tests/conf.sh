# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Does a real jemalloc do what check --conf says? Sourced after tests/lib.sh.

tests/drivers/conf-strings "${STRINGS:-150}" "${SEED:=1}" >"$T/strings"
diag "seed $SEED"

# agrees VERSION OPTIONS LIBRARY [ROOT]
agrees()
{
	ok "jemalloc $1 does what is said, for $(wc -l <"$T/strings") strings" \
		tests/drivers/conf-compare "$CTL" "$2" "$3" "$1" "${@:4}" <"$T/strings"
}
