// SPDX-License-Identifier: Apache-2.0
#include "front/outcome.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct outcome by_code[ERR_CODES] = {
	[ERR_NONE] = { 200, false, "" },
	[ERR_FAILED] = { 500, false, "the operation failed" },
	[ERR_USAGE] = { 400, false, "the request is invalid" },
	[ERR_NOPROC] = { 404, false, "no such process" },
	[ERR_PERM] = { 403, false, "jeprof-ctl lacks permission for that process" },
	[ERR_NOJEMALLOC] = { 404, false, "no jemalloc was found in that process" },
	[ERR_NOPROF] = { 501, false, "that process was not started with profiling available" },
	[ERR_BUSY] = { 409, true, "something else is profiling or tracing that process" },
	[ERR_UNSAFE] = { 503, true, "no safe moment was found; nothing was changed" },
	[ERR_LOST] = { 502, false, "the process exited during the operation" },
	[ERR_OUTPUT] = { 507, false, "the output could not be written" },
};

static const struct outcome by_refusal[WIRE_REFUSALS] = {
	[WIRE_UNKNOWN_PEER] = { 401, false, "a token is needed: Authorization: Bearer TOKEN" },
	[WIRE_NOT_ALLOWED] = { 403, false, "this needs a role that the caller does not have" },
	[WIRE_FULL] = { 503, true, "too many operations are waiting" },
	[WIRE_NO_ONE] = { 404, false, "no process has that name" },
	[WIRE_SEVERAL] = { 409, true,
			   "several processes have that name; prefix the path with /pid/PID" },
};

struct outcome outcome_of(const struct wire_to_front *a)
{
	static const struct outcome by_reason[WIRE_REASONS] = {
		[WIRE_INACTIVE] = { 403, false,
				    "prof.active is false; POST /api/v1/processes/PID/activate" },
		[WIRE_NO_RUN] = { 404, false, "no such run" },
		[WIRE_ENDING] = { 503, true, "the service is ending" },
		[WIRE_OTHER_PROGRAM] = { 400, false, "the runs are of different programs" },
	};

	if (a->refusal)
		return by_refusal[a->refusal < WIRE_REFUSALS ? a->refusal : WIRE_FULL];
	if (a->reason && a->reason < WIRE_REASONS)
		return by_reason[a->reason];
	return by_code[a->code < ERR_CODES ? a->code : ERR_FAILED];
}

static const struct {
	unsigned int status;
	enum err_code code;
	const char *id;
} errors[] = {
	{ 400, ERR_USAGE, "request_malformed" },  { 401, ERR_PERM, "request_without_token" },
	{ 403, ERR_PERM, "request_not_allowed" }, { 404, ERR_USAGE, "no_such_page" },
	{ 405, ERR_USAGE, "method_not_allowed" }, { 411, ERR_USAGE, "request_without_length" },
	{ 413, ERR_USAGE, "request_too_long" },	  { 414, ERR_USAGE, "address_too_long" },
	{ 421, ERR_PERM, "host_not_known" },	  { 503, ERR_BUSY, "service_busy" },
	{ 505, ERR_USAGE, "version_not_known" },
};

static size_t find(unsigned int status)
{
	size_t i = 0;

	while (i < sizeof(errors) / sizeof(errors[0]) && errors[i].status != status)
		i++;
	return i;
}

const char *outcome_code(unsigned int status)
{
	size_t i = find(status);

	return err_code_name(i < sizeof(errors) / sizeof(errors[0]) ? errors[i].code : ERR_FAILED);
}

const char *outcome_id(unsigned int status)
{
	size_t i = find(status);

	return i < sizeof(errors) / sizeof(errors[0]) ? errors[i].id : "request_failed";
}

bool outcome_name_is_safe(const char name[WIRE_NAME_SIZE])
{
	size_t len = strnlen(name, WIRE_NAME_SIZE);

	if (!len || len == WIRE_NAME_SIZE || name[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return true;
}
