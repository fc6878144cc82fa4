# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Does a real jemalloc behave as check --conf says? Sourced after tests/lib.sh.

tests/drivers/conf-strings "${STRINGS:-150}" "${SEED:=1}" >"$T/strings"
diag "seed $SEED"

# agrees VERSION OPTIONS LIBRARY [ROOT]: compare this jemalloc with check's predictions for all
# strings
agrees()
{
	ok "jemalloc $1 behaves as predicted, for $(wc -l <"$T/strings") strings" \
		tests/drivers/conf-compare "$CTL" "$2" "$3" "$1" "${@:4}" <"$T/strings"
}
