#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A row of the option tables whose field has another type than the option must not compile: it would
# overwrite the neighbouring field.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# compiles KIND FIELD: try to compile a row of that kind for that field
compiles()
{
	cat >"$T/row.c" <<-C
		#include "cli/args.h"
		const struct option_def row = { "name", 0, VALUE($1, $2), NULL, "help", NULL };
	C
	cc -std=gnu17 -D_GNU_SOURCE= -I. -I"$B/gen" -fsyntax-only "$T/row.c" 2>"$T/said"
}

right='FLAG json, STRING comm, OPTIONAL in_target, PID pid, INT count, DURATION timeout_ms, SIZE limit_bytes, CHOICE color, FILE output'
while read -r kind field; do
	ok "$kind takes $field" compiles "$kind" "$field" || diag "$(<"$T/said")"
done <<<"${right//, /$'\n'}"

wrong='FLAG color, FLAG pid, STRING json, STRING pid, OPTIONAL force, PID color, PID timeout_ms, INT json, INT unit, DURATION count, DURATION comm, SIZE pid, SIZE color, CHOICE json, CHOICE count, FILE words'
while read -r kind field; do
	ok "$kind does not take $field" eval "! compiles $kind $field"
	like "$(<"$T/said")" "the field $field is not of the type of OPTION_$kind" "$kind does not take $field: the error names both"
done <<<"${wrong//, /$'\n'}"

done_testing
