// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/unit/: names of units, the output of systemctl(1), and the drop-in that sets a
 * variable. Pure functions over text.
 */
#ifndef OPS_UNIT_TEXT_H
#define OPS_UNIT_TEXT_H

#include "base/err.h"
#include "ops/unit/unit.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The full name of the service that systemctl takes `given` for: ".service" is added if no type is
 * named. It becomes a part of a path: ERR_USAGE for an invalid name, or that of a unit of another
 * type, or of a template.
 */
int unit_name(const char *given, char name[UNIT_NAME_SIZE], struct err *err) __must_check;

/*
 * The next property `name` of "systemctl show", from *at on; "" if it is empty, false after the
 * last one. Also false if it is too long for `buf`.
 */
bool unit_property_next(const char **at, const char *name, char *buf, size_t size);
/* The first one; "" if there is none. */
void unit_property(const char *shown, const char *name, char *buf, size_t size);

/*
 * Does a list of assignments ("A=1 "B=two words""), as in the output of systemctl and in unit
 * files, set the variable? The last one counts. If so, its value is put in `buf`. Also false if it
 * is too long.
 */
bool unit_list_get(const char *list, const char *variable, char *buf, size_t size);
/* Does it contain this very word, or an assignment to it, as UnsetEnvironment= does? */
bool unit_list_names(const char *list, const char *variable);

/* The same in the text of an EnvironmentFile= (systemd.exec(5)). */
bool unit_file_get(const char *text, const char *variable, char *buf, size_t size);

/* --- the drop-in --- */

/* Make its text, which the caller frees. `was`: the value without it; NULL: not set. */
char *drop_in_make(const char *unit, const char *variable, const char *was, const char *value);

/* Did we write it? */
bool drop_in_is_ours(const char *text);

/* Which variable does a drop-in of ours set? False if it cannot be found, or does not fit. */
bool drop_in_variable(const char *text, char *buf, size_t size);

/* The value without the drop-in (*was_set: is it set?). False: it is about another variable. */
bool drop_in_was(const char *text, const char *variable, bool *was_set, char *buf, size_t size);

#endif
