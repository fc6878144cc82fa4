// SPDX-License-Identifier: Apache-2.0
#include "api/metrics.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *written(const struct ops_list *list, const struct api_own_metrics *own,
		     bool openmetrics)
{
	struct err err = ERR_INIT;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (api_metrics(out, list, own, openmetrics, &err))
		fail_msg("%s", said(&err));
	fclose(out);
	return text;
}

/* Two processes; the first one has two jemallocs. */
static struct ops_process some[] = {
	{ .pid = 7,
	  .comm = "one",
	  .service_name = "shop",
	  .version = "5.3.0",
	  .linkage = LINKAGE_PRELOAD,
	  .opt_prof = TRI_YES,
	  .prof_active = TRI_YES,
	  .rss_bytes = 4096,
	  .container_id = "80f5",
	  .pod_uid = "0f1e",
	  .unit = "a.scope",
	  .limited = true,
	  .limit_bytes = UINT64_C(1) << 40,
	  .used_bytes = 8192 },
	{ .pid = 7, .comm = "one", .prefix = "je_", .prof_active = TRI_NO },
	{ .pid = 8,
	  .comm = "two",
	  .service_name = "two",
	  .opt_prof = TRI_NO,
	  .prof_active = TRI_UNKNOWN },
};
static const struct ops_list two = { .v = some, .n = 3, .unreadable = 5, .missed = 6 };

#define PROCESSES                                                                       \
	"# HELP jeprof_processes Processes that use jemalloc\n"                         \
	"# TYPE jeprof_processes gauge\n"                                               \
	"jeprof_processes 2\n"                                                          \
	"# HELP jeprof_processes_omitted Processes left out here, as others have more " \
	"resident memory\n"                                                             \
	"# TYPE jeprof_processes_omitted gauge\n"                                       \
	"jeprof_processes_omitted 0\n"                                                  \
	"# HELP jeprof_processes_unseen Processes that could not be inspected\n"        \
	"# TYPE jeprof_processes_unseen gauge\n"                                        \
	"jeprof_processes_unseen{reason=\"not_allowed\"} 5\n"                           \
	"jeprof_processes_unseen{reason=\"no_answer\"} 0\n"                             \
	"jeprof_processes_unseen{reason=\"own_limit\"} 6\n"
#define INFOS                                                                                     \
	"jeprof_process_info{pid=\"7\",comm=\"one\",service=\"shop\",unit=\"a.scope\","           \
	"container_id=\"80f5\",pod_uid=\"0f1e\",version=\"5.3.0\",prefix=\"\","                   \
	"linkage=\"preload\",opt_prof=\"true\"} 1\n"                                              \
	"jeprof_process_info{pid=\"8\",comm=\"two\",service=\"two\",unit=\"\",container_id=\"\"," \
	"pod_uid=\"\",version=\"\",prefix=\"\",linkage=\"shared\",opt_prof=\"false\"} 1\n"
#define VALUES                                                                                   \
	"# HELP jeprof_prof_active Is heap sampling on: prof.active\n"                           \
	"# TYPE jeprof_prof_active gauge\n"                                                      \
	"jeprof_prof_active{pid=\"7\",comm=\"one\",service=\"shop\"} 1\n"                        \
	"# HELP jeprof_process_rss_bytes Resident memory\n"                                      \
	"# TYPE jeprof_process_rss_bytes gauge\n"                                                \
	"jeprof_process_rss_bytes{pid=\"7\",comm=\"one\",service=\"shop\"} 4096\n"               \
	"jeprof_process_rss_bytes{pid=\"8\",comm=\"two\",service=\"two\"} 0\n"                   \
	"# HELP jeprof_process_cgroup_limit_bytes Limit of the memory cgroup that will be full " \
	"first\n"                                                                                \
	"# TYPE jeprof_process_cgroup_limit_bytes gauge\n"                                       \
	"jeprof_process_cgroup_limit_bytes{pid=\"7\",comm=\"one\",service=\"shop\"} "            \
	"1099511627776\n"                                                                        \
	"# HELP jeprof_process_cgroup_used_bytes Memory used in that cgroup\n"                   \
	"# TYPE jeprof_process_cgroup_used_bytes gauge\n"                                        \
	"jeprof_process_cgroup_used_bytes{pid=\"7\",comm=\"one\",service=\"shop\"} 8192\n"

static void test_text(void **state)
{
	char *text = written(&two, NULL, false);

	(void)state;
	assert_string_equal(text, "# HELP jeprof_ctl_build_info The version of jeprof-ctl\n"
				  "# TYPE jeprof_ctl_build_info gauge\n"
				  "jeprof_ctl_build_info{version=\"" JEPROF_CTL_VERSION
				  "\"} 1\n" PROCESSES
				  "# HELP jeprof_process_info A process that uses jemalloc\n"
				  "# TYPE jeprof_process_info gauge\n" INFOS VALUES);
	free(text);
}

static void test_openmetrics(void **state)
{
	static const struct api_own_op ops[] = {
		{ .op = "dump", .ok = 3, .failed = 2, .refused = 1, .pause_us = 12000034 },
	};
	static const struct api_own_metrics own = {
		.ops = ops, .n = 1, .workers = 2, .waiting = 4
	};
	char *text = written(&two, &own, true);

	(void)state;
	assert_string_equal(
		text,
		"# HELP jeprof_ctl_build The version of jeprof-ctl\n"
		"# TYPE jeprof_ctl_build info\n"
		"jeprof_ctl_build_info{version=\"" JEPROF_CTL_VERSION "\"} 1\n"
		"# HELP jeprof_ctl_operations Requests to the service, by operation and result\n"
		"# TYPE jeprof_ctl_operations counter\n"
		"jeprof_ctl_operations_total{op=\"dump\",result=\"ok\"} 3\n"
		"jeprof_ctl_operations_total{op=\"dump\",result=\"failed\"} 2\n"
		"jeprof_ctl_operations_total{op=\"dump\",result=\"refused\"} 1\n"
		"# HELP jeprof_ctl_pause_seconds Time that threads of processes were stopped\n"
		"# TYPE jeprof_ctl_pause_seconds counter\n"
		"jeprof_ctl_pause_seconds_total{op=\"dump\"} 12.000034\n"
		"# HELP jeprof_ctl_workers Running operations\n"
		"# TYPE jeprof_ctl_workers gauge\n"
		"jeprof_ctl_workers 2\n"
		"# HELP jeprof_ctl_waiting Queued operations\n"
		"# TYPE jeprof_ctl_waiting gauge\n"
		"jeprof_ctl_waiting 4\n" PROCESSES
		"# HELP jeprof_process A process that uses jemalloc\n"
		"# TYPE jeprof_process info\n" INFOS VALUES "# EOF\n");
	free(text);
}

/* Without processes, no metric families of processes are written. */
static void test_none(void **state)
{
	static const struct api_own_metrics own = { 0 };
	char *text = written(&(struct ops_list){ 0 }, &own, false);

	(void)state;
	assert_non_null(strstr(text, "\njeprof_processes 0\n"));
	assert_non_null(strstr(text, "\njeprof_ctl_workers 0\n"));
	assert_null(strstr(text, "jeprof_process_"));
	assert_null(strstr(text, "_total"));
	free(text);
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (text = strstr(text, part); text; text = strstr(text + 1, part))
		n++;
	return n;
}

static void test_most(void **state)
{
	enum { N = API_METRICS_PROCESSES_MAX + 3 };
	static struct ops_process v[N];
	const struct ops_list list = { .v = v, .n = N };
	char *text;

	(void)state;
	for (int i = 0; i < N; i++)
		v[i] = (struct ops_process){ .pid = i + 1, .rss_bytes = i == 50 ? 0 : 9 };
	v[N - 1].rss_bytes = 8;
	text = written(&list, NULL, false);
	assert_int_equal(count(text, "\njeprof_process_info{"), API_METRICS_PROCESSES_MAX);
	assert_int_equal(count(text, "\njeprof_process_rss_bytes{"), API_METRICS_PROCESSES_MAX);
	assert_non_null(strstr(text, "\njeprof_processes 203\n"));
	assert_non_null(strstr(text, "\njeprof_processes_omitted 3\n"));
	/* Among processes with equal RSS, the first ones are kept; the output is sorted by pid. */
	assert_null(strstr(text, "pid=\"51\""));
	assert_null(strstr(text, "pid=\"203\""));
	assert_null(strstr(text, "pid=\"202\""));
	assert_true(strstr(text, "pid=\"1\"") < strstr(text, "pid=\"2\""));
	assert_true(strstr(text, "pid=\"9\"") < strstr(text, "pid=\"201\""));
	free(text);
}

/* Hostile names from the target, wherever a name appears. */
static void test_hostile(void **state)
{
	static const char evil[] = "\"} 1\n\\\xff{";
	struct ops_process p = {
		.pid = 7, .rss_bytes = 1, .prof_active = TRI_YES, .limited = true
	};
	const struct ops_list list = { .v = &p, .n = 1 };
	size_t lines = 0;
	char *text;

	(void)state;
	strcpy(p.comm, evil);
	strcpy(p.service_name, evil);
	strcpy(p.unit, evil);
	strcpy(p.version, evil);
	strcpy(p.prefix, evil);
	text = written(&list, NULL, false);
	assert_int_equal(count(text, "\\\"} 1\\\\x0a\\\\\\\\xff{\""), 4 * 2 + 2 + 3);
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save), lines++)
		assert_true(line[0] == '#' || !strncmp(line, "jeprof_", 7));
	assert_int_equal(lines, 3 + 3 + 3 + 5 + 5 * 3);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	cmocka_unit_test(test_openmetrics),
		cmocka_unit_test(test_none),	cmocka_unit_test(test_most),
		cmocka_unit_test(test_hostile),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
