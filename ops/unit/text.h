// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/unit/: names of units, what systemctl(1) shows of them, and the drop-in that sets
 * a variable. Pure functions over text.
 */
#ifndef OPS_UNIT_TEXT_H
#define OPS_UNIT_TEXT_H

#include "base/err.h"
#include "ops/unit/unit.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The whole name of the service that systemctl takes `given` for: ".service" is added where no
 * type is named. It becomes a part of a path: ERR_USAGE for what is no valid name, of a unit of
 * another type, or of a template.
 */
int unit_name(const char *given, char name[UNIT_NAME_SIZE], struct err *err) __must_check;

/*
 * The next property `name` of "systemctl show", from *at on; "" where it is empty, false behind the
 * last. What is too long for `buf` is false, too.
 */
bool unit_property_next(const char **at, const char *name, char *buf, size_t size);
/* The first one; "" if there is none. */
void unit_property(const char *shown, const char *name, char *buf, size_t size);

/*
 * Does a list of assignments ("A=1 "B=two words""), as systemctl shows and unit files have it, set
 * the variable? The last one counts. Then its value is in `buf`. False, too, where it is too long.
 */
bool unit_list_get(const char *list, const char *variable, char *buf, size_t size);
/* Does it have this very word, or the assignment of it: as UnsetEnvironment= does? */
bool unit_list_names(const char *list, const char *variable);

/* The same in the text of an EnvironmentFile= (systemd.exec(5)). */
bool unit_file_get(const char *text, const char *variable, char *buf, size_t size);

/* --- the drop-in --- */

/* The text of one, which the caller frees. `was`: its value without it; NULL: it is not set. */
char *drop_in_make(const char *unit, const char *variable, const char *was, const char *value);

/* Did we write it? */
bool drop_in_is_ours(const char *text);

/* Which variable does one of ours set? False: that is not to be seen, or does not fit. */
bool drop_in_variable(const char *text, char *buf, size_t size);

/* What the variable is without it (*was_set: is it set?). False: it is about another one. */
bool drop_in_was(const char *text, const char *variable, bool *was_set, char *buf, size_t size);

#endif
