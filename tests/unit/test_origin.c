// SPDX-License-Identifier: Apache-2.0
#include "front/origin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const hosts[] = { "node7.example.org", "10.0.0.7" };

static enum origin_verdict judged(enum wire_transport transport, struct origin o)
{
	if (!o.method)
		o.method = "GET";
	return origin_judge(transport, &o, hosts, 2);
}

static void test_host(void **state)
{
	static const char *const ours[] = {
		"localhost",   "localhost:1",	    "LOCALHOST:19477",
		"127.0.0.1",   "127.0.0.1:80",	    "[::1]",
		"[::1]:19477", "node7.example.org", "Node7.Example.ORG:19477",
		"10.0.0.7:1",  "localhost:",
	};
	static const char *const others[] = {
		"",
		"evil.example",
		"localhost.evil.example",
		"xlocalhost",
		"127.0.0.2",
		"::1",
		"[::1",
		"[::1]x",
		"[::2]",
		"node7.example.org.",
		"node7",
		"localhost:x",
		"localhost:80x",
		"localhost:123456",
		"localhost@evil.example",
		"a@localhost",
		"localhost:80:80",
		"127.0.0.1:80@evil.example",
		":80",
		"localhost ",
		"[]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		assert_int_equal(judged(WIRE_TCP, (struct origin){ .host = ours[i] }), ORIGIN_GOOD);
		assert_int_equal(judged(WIRE_TLS, (struct origin){ .host = ours[i] }), ORIGIN_GOOD);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_int_equal(judged(WIRE_TCP, (struct origin){ .host = others[i] }),
				 ORIGIN_OTHER_HOST);
		assert_int_equal(judged(WIRE_UNIX, (struct origin){ .host = others[i] }),
				 ORIGIN_GOOD);
	}
	assert_int_equal(judged(WIRE_TCP, (struct origin){ 0 }), ORIGIN_OTHER_HOST);
	assert_int_equal(judged(WIRE_UNIX, (struct origin){ 0 }), ORIGIN_GOOD);
}

static void test_socket(void **state)
{
	(void)state;
	assert_int_equal(judged(WIRE_UNIX, (struct origin){ .origin = "http://localhost" }),
			 ORIGIN_BROWSER);
	assert_int_equal(judged(WIRE_UNIX, (struct origin){ .origin = "" }), ORIGIN_BROWSER);
	assert_int_equal(judged(WIRE_UNIX, (struct origin){ .referer = "http://localhost/" }),
			 ORIGIN_BROWSER);
	assert_int_equal(judged(WIRE_UNIX, (struct origin){ .method = "POST" }), ORIGIN_GOOD);
}

/* An unknown name may resolve to this host temporarily (DNS rebinding); an address cannot. */
static void test_tls(void **state)
{
	static const char *const addresses[] = { "10.1.2.3", "10.1.2.3:1", "[fd00::7]:19477",
						 "[::ffff:10.1.2.3]" };
	static const char *const others[] = { "evil.example",
					      "10.1.2.3.evil.example",
					      "10.1.2",
					      "0x7f.1",
					      "[10.1.2.3]",
					      "fd00::7",
					      "[fd00::7",
					      "[]",
					      "" };
	static const struct {
		const char *origin;
		enum origin_verdict verdict;
	} rows[] = {
		{ "https://node7.example.org", ORIGIN_GOOD },
		{ "HTTPS://node7.example.org", ORIGIN_GOOD },
		{ "http://node7.example.org", ORIGIN_OTHER_SITE },
		{ "https", ORIGIN_OTHER_SITE },
		{ "httpsx://node7.example.org", ORIGIN_OTHER_SITE },
		{ "null", ORIGIN_OTHER_SITE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		struct origin o = { .host = addresses[i] };

		assert_int_equal(judged(WIRE_TLS, o), ORIGIN_GOOD);
		assert_int_equal(judged(WIRE_TCP, o), ORIGIN_OTHER_HOST);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(judged(WIRE_TLS, (struct origin){ .host = others[i] }),
				 ORIGIN_OTHER_HOST);
	assert_int_equal(judged(WIRE_TLS, (struct origin){ 0 }), ORIGIN_OTHER_HOST);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(judged(WIRE_TLS, (struct origin){ .host = "node7.example.org",
								   .origin = rows[i].origin }),
				 rows[i].verdict);
	assert_int_equal(judged(WIRE_TLS, (struct origin){ .host = "node7.example.org",
							   .method = "POST",
							   .fetch_site = "cross-site" }),
			 ORIGIN_OTHER_SITE);
}

/* The table of Go's TestCrossOriginProtection, plus cases that are stricter here. */
static void test_site(void **state)
{
	static const struct {
		const char *method, *fetch_site, *origin;
		enum origin_verdict verdict;
	} rows[] = {
		{ "POST", "same-origin", NULL, ORIGIN_GOOD },
		{ "POST", "none", NULL, ORIGIN_GOOD },
		{ "POST", "cross-site", NULL, ORIGIN_OTHER_SITE },
		{ "POST", "same-site", NULL, ORIGIN_OTHER_SITE },
		{ "POST", "", NULL, ORIGIN_OTHER_SITE },
		{ "POST", "Same-Origin", NULL, ORIGIN_OTHER_SITE },
		{ "POST", NULL, NULL, ORIGIN_GOOD },
		{ "POST", NULL, "http://localhost:1", ORIGIN_GOOD },
		{ "POST", NULL, "https://localhost:1", ORIGIN_GOOD },
		{ "POST", NULL, "http://LOCALHOST:1", ORIGIN_GOOD },
		{ "POST", NULL, "http://localhost", ORIGIN_OTHER_SITE },
		{ "POST", NULL, "http://localhost:2", ORIGIN_OTHER_SITE },
		{ "POST", NULL, "http://evil.example", ORIGIN_OTHER_SITE },
		{ "POST", NULL, "http://localhost:1.evil.example", ORIGIN_OTHER_SITE },
		{ "POST", NULL, "null", ORIGIN_OTHER_SITE },
		{ "POST", NULL, "", ORIGIN_OTHER_SITE },
		{ "PUT", "cross-site", NULL, ORIGIN_OTHER_SITE },
		{ "DELETE", "cross-site", NULL, ORIGIN_OTHER_SITE },
		{ "WHATEVER", "cross-site", NULL, ORIGIN_OTHER_SITE },
		{ "post", "cross-site", NULL, ORIGIN_OTHER_SITE },
		{ "GET", "cross-site", NULL, ORIGIN_GOOD },
		{ "HEAD", "cross-site", NULL, ORIGIN_GOOD },
		{ "OPTIONS", "cross-site", NULL, ORIGIN_GOOD },
		{ "GET", NULL, "http://localhost:1", ORIGIN_GOOD },
		{ "GET", NULL, "http://evil.example", ORIGIN_OTHER_SITE },
		{ "GET", "same-origin", "http://evil.example", ORIGIN_OTHER_SITE },
		{ "POST", "same-origin", "http://evil.example", ORIGIN_OTHER_SITE },
		{ "POST", "cross-site", "http://localhost:1", ORIGIN_OTHER_SITE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct origin o = { .method = rows[i].method,
					  .host = "localhost:1",
					  .fetch_site = rows[i].fetch_site,
					  .origin = rows[i].origin,
					  .referer = "http://anywhere.example/" };

		if (origin_judge(WIRE_TCP, &o, NULL, 0) != rows[i].verdict)
			fail_msg("%zu: %s %s %s", i, o.method, o.fetch_site, o.origin);
		/* A GET that changes something is judged like a POST. */
		if (!strcmp(rows[i].method, "POST")) {
			struct origin get = o;

			get.method = "GET";
			get.changes = true;
			assert_int_equal(origin_judge(WIRE_TCP, &get, NULL, 0), rows[i].verdict);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_socket),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_site),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
