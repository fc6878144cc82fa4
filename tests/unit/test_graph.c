// SPDX-License-Identifier: Apache-2.0
/* The formats with calls: callgrind and dot, and those in JSON. */
#include "base/json.h"
#include "profile/graph.h"
#include "tests/unit/made_format.h"

static const struct made_stack stacks[] = {
	{ "main;a;b;malloc", 1, 100.4, 0, 0 },
	{ "main;a;a;b;a;malloc", 2, 200.4, 0, 0 },
	{ "main;c+a;malloc", 3, 300.4, 0, 0 },
	{ "malloc", 1, 10, 0, 0 },
};

static void test_graph(void **state)
{
	struct made_profile *made = made_profile(stacks, N(stacks));
	struct profile_names names;
	struct profile_paths paths;
	struct profile_graph graph;
	bool keep[MADE_MAX] = { false };
	struct err err;
	uint32_t main_at = 3, a = 2, b = 1, c = 4;

	(void)state;
	assert_string_equal(made->functions[main_at].name, "main");
	assert_string_equal(made->functions[a].name, "a");
	assert_string_equal(made->functions[b].name, "b");
	assert_string_equal(made->functions[c].name, "c");
	assert_int_equal(profile_names_init(&names, &made->symbols, &err), 0);
	assert_int_equal(profile_paths_init(&paths, &made->profile, &names, false, &err), 0);
	assert_int_equal(
		profile_graph_init(&graph, &paths, names.n, PROFILE_INUSE_OBJECTS, NULL, &err), 0);
	assert_true(graph.total == 7 && graph.size == 7);
	assert_true(graph.nodes[main_at].cum == 6 && graph.nodes[main_at].flat == 0);
	assert_true(graph.nodes[a].cum == 6 && graph.nodes[a].flat == 5);
	assert_true(graph.nodes[b].cum == 3 && graph.nodes[b].flat == 1);
	assert_int_equal(graph.n_edges, 6);
	profile_graph_fini(&graph);
	keep[main_at] = keep[b] = true;
	assert_int_equal(
		profile_graph_init(&graph, &paths, names.n, PROFILE_INUSE_OBJECTS, keep, &err), 0);
	assert_int_equal(graph.n_edges, 1);
	assert_true(graph.edges[0].from == main_at && graph.edges[0].to == b);
	assert_true(graph.edges[0].residual && graph.edges[0].weight == 3);
	profile_graph_fini(&graph);
	profile_paths_fini(&paths);
	profile_names_fini(&names);
	made_free(made);
}

/* Recursion does not inflate the cost of a function. */
static void test_callgrind(void **state)
{
	char *text = written(stacks, N(stacks), PROFILE_FORMAT_CALLGRIND, &space);

	(void)state;
	assert_non_null(strstr(text, "\npid: 42\ncmd: made\npositions: line\n"
				     "events: inuse_space inuse_objects\n"));
	assert_non_null(strstr(text, "\ntotals: 611 7\n"));
	assert_int_equal(count(text, ") made.c\n"), 1);
	assert_int_equal(count(text, ") main\n"), 1);
	assert_non_null(strstr(text, ") ???\n0 10 1\n"));
	free(text);
}

static void test_dot(void **state)
{
	struct profile_format_options options = space;
	char *text = written(stacks, N(stacks), PROFILE_FORMAT_DOT, &options);

	(void)state;
	assert_non_null(strstr(text, "digraph \"made\" {"));
	assert_non_null(strstr(text, "inuse_space 611\\l4 of 4 functions shown"));
	assert_int_equal(count(text, "tooltip="), 4);
	assert_int_equal(count(text, " -> "), 6);
	free(text);
	options.node_count = 2;
	text = written(stacks, N(stacks), PROFILE_FORMAT_DOT, &options);
	assert_int_equal(count(text, "tooltip="), 2);
	assert_non_null(strstr(text, "2 of 4 functions shown"));
	assert_int_equal(count(text, "style=dashed"), 2);
	free(text);
	options.node_count = 0;
	options.node_fraction = 0.5;
	options.edge_fraction = 0.6;
	text = written(stacks, N(stacks), PROFILE_FORMAT_DOT, &options);
	assert_int_equal(count(text, "tooltip="), 2);
	assert_int_equal(count(text, " -> "), 1);
	free(text);
}

/* The document in `text`, which is freed. */
static struct json_object *parsed(char *text)
{
	struct json_object *doc = json_tokener_parse(text);

	assert_non_null(doc);
	assert_null(strchr(strchr(text, '{'), '<'));
	free(text);
	return doc;
}

/* The value at a path such as "profiles.0.weights". */
static struct json_object *member(struct json_object *doc, const char *path)
{
	char *copy = strdup(path), *at = copy, *key;

	while ((key = strsep(&at, ".")))
		doc = json_object_is_type(doc, json_type_array)
			      ? json_object_array_get_idx(doc, strtoul(key, NULL, 10))
			      : json_object_object_get(doc, key);
	free(copy);
	return doc;
}

static int64_t whole(struct json_object *doc, const char *path)
{
	return json_object_get_int64(member(doc, path));
}

static void test_speedscope(void **state)
{
	struct json_object *doc =
		parsed(written(stacks, N(stacks), PROFILE_FORMAT_SPEEDSCOPE, &space));
	struct json_object *weights = member(doc, "profiles.1.weights");
	int64_t sum = 0;

	(void)state;
	assert_int_equal(json_object_array_length(member(doc, "profiles")), 2);
	for (size_t i = 0; i < json_object_array_length(weights); i++)
		sum += json_object_get_int64(json_object_array_get_idx(weights, i));
	assert_int_equal(sum, 611);
	assert_int_equal(whole(doc, "profiles.1.endValue"), 611);
	assert_int_equal(whole(doc, "activeProfileIndex"), 1);
	assert_int_equal(json_object_array_length(member(doc, "profiles.1.samples")), 4);
	/* The empty path comes first, then main;a;a;b;a, outermost first. */
	assert_int_equal(json_object_array_length(member(doc, "profiles.1.samples.0")), 0);
	assert_int_equal(whole(doc, "profiles.1.samples.1.0"), 3);
	assert_string_equal(json_object_get_string(member(doc, "shared.frames.3.name")), "main");
	assert_string_equal(json_object_get_string(member(doc, "shared.frames.3.file")), "made.c");
	json_object_put(doc);
}

static void test_json(void **state)
{
	struct json_object *doc = parsed(written(stacks, N(stacks), PROFILE_FORMAT_JSON, &space));

	(void)state;
	assert_int_equal(whole(doc, "pid"), 42);
	assert_true(json_object_get_double(member(doc, "totals.1")) > 611.19);
	assert_string_equal(json_object_get_string(member(doc, "types.1")), "inuse_space");
	assert_string_equal(json_object_get_string(member(doc, "mappings.0.build_id")),
			    "0123456789abcdef");
	assert_int_equal(json_object_array_length(member(doc, "stacks")), 4);
	assert_int_equal(json_object_array_length(member(doc, "stacks.2.frames")), 3);
	assert_int_equal(whole(doc, "stacks.2.frames.0.0"), 2);
	assert_true(whole(doc, "stacks.2.frames.0.1") >= 10);
	assert_true(json_object_get_double(member(doc, "stacks.2.values.1")) > 300.39);
	assert_int_equal(json_object_array_length(member(doc, "stacks.3.frames")), 0);
	json_object_put(doc);
}

/* A decrease is shown by dot and json. The other formats cannot express it. */
static void test_difference(void **state)
{
	static const struct made_stack both[] = { { "main;grew;malloc", 2, 50, 0, 0 },
						  { "main;shrank;malloc", -1, -40, 0, 0 } };
	struct json_object *doc;
	char *text = written(both, N(both), PROFILE_FORMAT_DOT, &space);

	(void)state;
	assert_non_null(strstr(text, "shrank\\n-40 (44.4%)"));
	free(text);
	text = written(both, N(both), PROFILE_FORMAT_CALLGRIND, &space);
	assert_non_null(strstr(text, "\ntotals: 50 2\n"));
	assert_null(strchr(strstr(text, "events:"), '-'));
	free(text);
	doc = parsed(written(both, N(both), PROFILE_FORMAT_SPEEDSCOPE, &space));
	assert_int_equal(whole(doc, "profiles.1.endValue"), 50);
	assert_int_equal(json_object_array_length(member(doc, "profiles.1.samples")), 1);
	json_object_put(doc);
	doc = parsed(written(both, N(both), PROFILE_FORMAT_JSON, &space));
	assert_int_equal(whole(doc, "stacks.1.values.1"), -40);
	json_object_put(doc);
}

static void test_hostile(void **state)
{
	static const struct made_stack odd[] = { { "</script>\"\\N\n\r(1) x\xff<b>&amp;main", 1, 5,
						   0, 0 } };
	struct profile_format_options options = space;
	char *text;

	(void)state;
	options.title = "\"\n}<";
	text = written(odd, N(odd), PROFILE_FORMAT_DOT, &options);
	assert_non_null(strstr(text, "digraph \"\\\"\\\\x0a}&lt;\" {"));
	assert_non_null(strstr(text, "tooltip=\"&lt;/script>\\\"\\\\N\\\\x0a\\\\x0d(1) x"
				     "\\\\xff&lt;b>&amp;amp\""));
	free(text);
	text = written(odd, N(odd), PROFILE_FORMAT_CALLGRIND, &options);
	assert_non_null(strstr(text, "\ncmd: \"\\x0a}<\n"));
	assert_non_null(strstr(text, ") </script>\"\\N\\x0a\\x0d(1) x\\xff<b>&amp\n"));
	free(text);
	json_object_put(parsed(written(odd, N(odd), PROFILE_FORMAT_SPEEDSCOPE, &options)));
	json_object_put(parsed(written(odd, N(odd), PROFILE_FORMAT_JSON, &options)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graph),	cmocka_unit_test(test_callgrind),
		cmocka_unit_test(test_dot),	cmocka_unit_test(test_speedscope),
		cmocka_unit_test(test_json),	cmocka_unit_test(test_difference),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
