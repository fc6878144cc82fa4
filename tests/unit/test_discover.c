// SPDX-License-Identifier: Apache-2.0
#include "api/discover.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/utsname.h>

#include <cmocka.h>

#define TARGET "node7:19477"

/* One process that can be profiled, with a second jemalloc; one with profiling off; one unknown. */
static char path[] = "/usr/bin/one", command[] = "one --password=secret";
static struct ops_process some[] = {
	{ .pid = 7,
	  .comm = "one",
	  .uid = 1000,
	  .service_name = "shop",
	  .version = "5.3.0",
	  .prefix = "je_",
	  .linkage = LINKAGE_PRELOAD,
	  .opt_prof = TRI_YES,
	  .prof_active = TRI_YES,
	  .container = "80f5",
	  .container_id = "80f5ef",
	  .pod_uid = "0f1e",
	  .qos_class = "Burstable",
	  .unit = "a.scope",
	  .cgroup = "/a.slice/a.scope",
	  .exe = path,
	  .command = command },
	{ .pid = 7, .comm = "one", .opt_prof = TRI_YES, .prof_active = TRI_YES },
	{ .pid = 8, .comm = "two", .opt_prof = TRI_YES, .prof_active = TRI_NO },
	{ .pid = 9, .comm = "three", .opt_prof = TRI_UNKNOWN, .prof_active = TRI_UNKNOWN },
};
static const struct ops_list four = { .v = some, .n = 4 };

static struct json_object *member(struct json_object *doc, const char *name)
{
	struct json_object *found;

	if (!json_object_object_get_ex(doc, name, &found))
		fail_msg("no %s", name);
	return found;
}

static const char *label(struct json_object *array, size_t i, const char *name)
{
	struct json_object *labels = member(json_object_array_get_idx(array, i), "labels");

	assert_true(json_object_is_type(member(labels, name), json_type_string));
	return json_object_get_string(member(labels, name));
}

static void test_labels(void **state)
{
	_cleanup_(json_close) struct json_object *doc =
		api_discover(&four, TARGET, NULL, false, false);
	static const char *const labels[][2] = {
		{ "__param_pid", "7" },
		{ "service_name", "shop" },
		{ "comm", "one" },
		{ "pid", "7" },
		{ "unit", "a.scope" },
		{ "container_id", "80f5ef" },
		{ "pod_uid", "0f1e" },
		{ "__meta_jeprof_exe", path },
		{ "__meta_jeprof_cgroup", "/a.slice/a.scope" },
		{ "__meta_jeprof_container", "80f5" },
		{ "__meta_jeprof_qos_class", "Burstable" },
		{ "__meta_jeprof_uid", "1000" },
		{ "__meta_jeprof_version", "5.3.0" },
		{ "__meta_jeprof_prefix", "je_" },
		{ "__meta_jeprof_linkage", "preload" },
		{ "__meta_jeprof_opt_prof", "true" },
		{ "__meta_jeprof_prof_active", "true" },
	};
	struct json_object *one, *targets;
	struct utsname host;

	(void)state;
	assert_int_equal(json_object_array_length(doc), 1);
	one = json_object_array_get_idx(doc, 0);
	targets = member(one, "targets");
	assert_int_equal(json_object_array_length(targets), 1);
	assert_string_equal(json_object_get_string(json_object_array_get_idx(targets, 0)), TARGET);
	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		assert_string_equal(label(doc, 0, labels[i][0]), labels[i][1]);
	uname(&host);
	assert_string_equal(label(doc, 0, "node"), host.nodename);
	/* There are no other labels, and nothing from the command line. */
	assert_int_equal(json_object_object_length(member(one, "labels")),
			 sizeof(labels) / sizeof(*labels) + 1);
	assert_null(strstr(json_object_to_json_string(doc), "secret"));
}

static void test_all(void **state)
{
	_cleanup_(json_close) struct json_object *doc =
		api_discover(&four, TARGET, NULL, false, true);

	(void)state;
	assert_int_equal(json_object_array_length(doc), 3);
	assert_string_equal(label(doc, 0, "__meta_jeprof_prefix"), "je_");
	assert_string_equal(label(doc, 1, "__param_pid"), "8");
	assert_string_equal(label(doc, 1, "__meta_jeprof_prof_active"), "false");
	assert_string_equal(label(doc, 1, "__meta_jeprof_qos_class"), "");
	assert_string_equal(label(doc, 2, "__meta_jeprof_opt_prof"), "");
}

static void test_tls(void **state)
{
	_cleanup_(json_close) struct json_object *plain =
		api_discover(&four, TARGET, NULL, false, false);
	_cleanup_(json_close) struct json_object *tls =
		api_discover(&four, TARGET, NULL, true, false);
	struct json_object *labels = member(json_object_array_get_idx(plain, 0), "labels");

	(void)state;
	assert_false(json_object_object_get_ex(labels, "__scheme__", NULL));
	assert_string_equal(label(tls, 0, "__scheme__"), "https");
}

static void test_node(void **state)
{
	_cleanup_(json_close) struct json_object *doc =
		api_discover(&four, TARGET, "node7", false, true);

	(void)state;
	for (size_t i = 0; i < json_object_array_length(doc); i++)
		assert_string_equal(label(doc, i, "node"), "node7");
}

static void test_none(void **state)
{
	_cleanup_(json_close) struct json_object *doc =
		api_discover(&(struct ops_list){ 0 }, TARGET, NULL, false, true);

	(void)state;
	assert_string_equal(json_object_to_json_string_ext(doc, 0), "[]");
}

static void test_hostile(void **state)
{
	static char evil[] = "\"}]\n\\\xff{";
	struct ops_process p = { .pid = 7, .opt_prof = TRI_YES, .prof_active = TRI_YES };
	const struct ops_list list = { .v = &p, .n = 1 };
	_cleanup_(json_close) struct json_object *doc = NULL, *read = NULL;
	const char *text;

	(void)state;
	strcpy(p.comm, evil);
	strcpy(p.service_name, evil);
	strcpy(p.unit, evil);
	p.exe = evil;
	doc = api_discover(&list, TARGET, NULL, false, false);
	text = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN);
	for (const char *c = text; *c; c++)
		assert_true(*c >= ' ' && *c < 0x7f);
	read = json_parse(text, strlen(text));
	assert_non_null(read);
	assert_int_equal(json_object_array_length(read), 1);
	assert_string_equal(label(read, 0, "comm"), "\"}]\\x0a\\\\xff{");
	assert_string_equal(label(read, 0, "unit"), "\"}]\\x0a\\\\xff{");
}

/* The schema describes each label, and no others. */
static void test_schema(void **state)
{
	static const char *const way[] = { "$defs", "discover", "items", "properties", "labels" };
	_cleanup_(json_close) struct json_object *doc =
		api_discover(&four, TARGET, NULL, false, false);
	_cleanup_(json_close) struct json_object *schema =
		json_object_from_file("doc/schema/jeprof-ctl.json");
	struct json_object *labels = member(json_object_array_get_idx(doc, 0), "labels");
	struct json_object *said = schema, *required;

	(void)state;
	assert_non_null(schema);
	for (size_t i = 0; i < sizeof(way) / sizeof(*way); i++)
		said = member(said, way[i]);
	required = member(said, "required");
	said = member(said, "properties");
	assert_int_equal(json_object_object_length(said), json_object_object_length(labels));
	assert_int_equal(json_object_array_length(required), json_object_object_length(labels));
	json_object_object_foreach(labels, name, value)
	{
		assert_non_null(value);
		member(said, name);
	}
	for (size_t i = 0; i < json_object_array_length(required); i++)
		member(labels, json_object_get_string(json_object_array_get_idx(required, i)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels), cmocka_unit_test(test_all),
		cmocka_unit_test(test_none),   cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_schema), cmocka_unit_test(test_tls),
		cmocka_unit_test(test_node),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
