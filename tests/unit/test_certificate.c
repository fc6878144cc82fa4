// SPDX-License-Identifier: Apache-2.0
/* Which TLS files are read, when they are read again, and which credentials are kept. */
#include "serve/certificate.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/scratch.h"

static char paths[WIRE_PEMS][64];
static struct certificate c;

static void write_file(enum wire_pem which, const char *text)
{
	FILE *f;

	unlink(paths[which]); /* a new inode, whatever the clock says */
	f = fopen(paths[which], "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(paths[which], 0600);
}

static int begin(void **state)
{
	const struct serve_request request = { .certificate = paths[WIRE_PEM_CERTIFICATE],
					       .key = paths[WIRE_PEM_KEY],
					       .client_ca = paths[WIRE_PEM_CLIENT_CA],
					       .client_crl = paths[WIRE_PEM_CLIENT_CRL] };

	(void)state;
	write_file(WIRE_PEM_CERTIFICATE, "cert");
	write_file(WIRE_PEM_KEY, "a key");
	write_file(WIRE_PEM_CLIENT_CA, "+ca");
	write_file(WIRE_PEM_CLIENT_CRL, "+crl");
	certificate_init(&c, &request);
	return 0;
}

static int finish(void **state)
{
	(void)state;
	certificate_fini(&c);
	return 0;
}

/* The credentials that a front would get. */
static void assert_holds(int fd, const char *text)
{
	struct wire_credentials head;
	char buf[64] = "";

	assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
	assert_true(pread(fd, buf, sizeof(buf) - 1, sizeof(head)) >= 0);
	assert_string_equal(buf, text);
	assert_int_equal(head.bytes[0] + head.bytes[1] + head.bytes[2] + head.bytes[3],
			 strlen(text));
	assert_int_equal(fcntl(fd, F_GET_SEALS),
			 F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

static int renew(enum error *id)
{
	struct err err = ERR_INIT;
	int renewed = certificate_renew(&c, &err);

	*id = err.ids[0];
	return renewed;
}

static int judged(enum wire_loaded loaded, enum error *id)
{
	struct err err = ERR_INIT;
	int result = certificate_judged(&c, loaded, &err);

	*id = err.ids[0];
	return result;
}

static void test_renew(void **state)
{
	enum error id;

	(void)state;
	assert_int_equal(renew(&id), 1);
	assert_holds(c.offered, "certa key+ca+crl");
	assert_int_equal(renew(&id), 0); /* no verdict from the front yet */
	assert_int_equal(judged(WIRE_LOADED_GOOD, &id), 0);
	assert_int_equal(c.offered, -1);
	assert_holds(c.good, "certa key+ca+crl");
	assert_int_equal(renew(&id), 0);
	write_file(WIRE_PEM_KEY, "other");
	assert_int_equal(renew(&id), 1);
	assert_holds(c.offered, "certother+ca+crl");
	assert_int_equal(judged(WIRE_LOADED_OTHER_KEY, &id), -1);
	assert_int_equal(id, ERROR_OTHER_KEY);
	assert_int_equal(c.offered, -1);
	assert_holds(c.good, "certa key+ca+crl");
	assert_int_equal(renew(&id), 0); /* already reported */
	write_file(WIRE_PEM_CERTIFICATE, "new ");
	assert_int_equal(renew(&id), 1);
	assert_int_equal(judged(WIRE_LOADED_EXPIRED, &id), 1);
	assert_int_equal(id, ERROR_CERTIFICATE_EXPIRED);
	assert_holds(c.good, "new other+ca+crl");
	write_file(WIRE_PEM_CLIENT_CRL, "+new");
	assert_int_equal(renew(&id), 1);
	assert_holds(c.offered, "new other+ca+new");
	assert_int_equal(judged(WIRE_LOADED_NO_CLIENT_CRL, &id), -1);
	assert_int_equal(id, ERROR_NO_CLIENT_CRL);
}

static void test_restart(void **state)
{
	enum error id;

	(void)state;
	certificate_restart(&c); /* nothing has been offered yet */
	assert_int_equal(renew(&id), 1);
	certificate_restart(&c);
	assert_holds(c.offered, "certa key+ca+crl");
	assert_int_equal(judged(WIRE_LOADED_GOOD, &id), 0);
	write_file(WIRE_PEM_KEY, "other");
	assert_int_equal(renew(&id), 1);
	certificate_restart(&c);
	assert_holds(c.offered, "certa key+ca+crl");
	assert_int_equal(judged(WIRE_LOADED_GOOD, &id), 0);
	assert_int_equal(renew(&id), 1); /* never judged, so read again */
	assert_holds(c.offered, "certother+ca+crl");
	certificate_withdraw(&c);
	assert_int_equal(c.offered, -1);
	assert_int_equal(renew(&id), 1);
}

static void test_unreadable(void **state)
{
	enum error id;

	(void)state;
	unlink(paths[WIRE_PEM_CLIENT_CA]);
	assert_int_equal(renew(&id), -1);
	assert_int_equal(id, ERROR_PEM_UNREADABLE);
	assert_int_equal(c.offered, -1);
	assert_int_equal(renew(&id), 0);
	write_file(WIRE_PEM_CLIENT_CA, "+ca");
	assert_int_equal(renew(&id), 1);
	assert_holds(c.offered, "certa key+ca+crl");
}

/* Each file with a mode, and the expected error. */
static void test_modes(void **state)
{
	static const struct {
		enum wire_pem which;
		mode_t mode;
		enum error id;
	} rows[] = {
		{ WIRE_PEM_CERTIFICATE, 0644, ERROR_NONE },
		{ WIRE_PEM_CERTIFICATE, 0664, ERROR_PEM_NOT_OURS },
		{ WIRE_PEM_CERTIFICATE, 0646, ERROR_PEM_NOT_OURS },
		{ WIRE_PEM_CLIENT_CA, 0644, ERROR_NONE },
		{ WIRE_PEM_CLIENT_CA, 0620, ERROR_PEM_NOT_OURS },
		{ WIRE_PEM_CLIENT_CRL, 0644, ERROR_NONE },
		{ WIRE_PEM_CLIENT_CRL, 0602, ERROR_PEM_NOT_OURS },
		{ WIRE_PEM_KEY, 0400, ERROR_NONE },
		{ WIRE_PEM_KEY, 0640, ERROR_NONE },
		{ WIRE_PEM_KEY, 0660, ERROR_PEM_NOT_OURS },
		{ WIRE_PEM_KEY, 0604, ERROR_KEY_NOT_SECRET },
		{ WIRE_PEM_KEY, 0644, ERROR_KEY_NOT_SECRET },
	};
	enum error id;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		mode_t before = 0600;

		chmod(paths[rows[i].which], rows[i].mode);
		assert_int_equal(renew(&id), rows[i].id ? -1 : 1);
		assert_int_equal(id, rows[i].id);
		chmod(paths[rows[i].which], before);
		certificate_withdraw(&c);
	}
}

static void test_kinds(void **state)
{
	enum error id;

	(void)state;
	unlink(paths[WIRE_PEM_KEY]);
	assert_int_equal(mkfifo(paths[WIRE_PEM_KEY], 0600), 0);
	assert_int_equal(renew(&id), -1);
	assert_int_equal(id, ERROR_PEM_NOT_OURS);
	unlink(paths[WIRE_PEM_KEY]);
	assert_int_equal(mkdir(paths[WIRE_PEM_KEY], 0700), 0);
	assert_int_equal(renew(&id), -1);
	assert_int_equal(id, ERROR_PEM_NOT_OURS);
	rmdir(paths[WIRE_PEM_KEY]);
	write_file(WIRE_PEM_KEY, "k");
	assert_int_equal(truncate(paths[WIRE_PEM_KEY], WIRE_PEM_MAX), 0);
	assert_int_equal(renew(&id), 1);
	certificate_withdraw(&c);
	assert_int_equal(truncate(paths[WIRE_PEM_KEY], WIRE_PEM_MAX + 1), 0);
	assert_int_equal(renew(&id), -1);
	assert_int_equal(id, ERROR_PEM_TOO_LONG);
}

/* An empty file is not the same as a missing option. */
static void test_empty(void **state)
{
	static const enum error none[WIRE_PEMS] = { ERROR_NO_CERTIFICATE, ERROR_NO_KEY,
						    ERROR_NO_CLIENT_CA, ERROR_NO_CLIENT_CRL };
	enum error id;

	(void)state;
	for (int i = WIRE_PEMS - 1; i >= 0; i--) {
		write_file((enum wire_pem)i, "");
		assert_int_equal(renew(&id), -1);
		assert_int_equal(id, none[i]);
	}
}

/* Without TLS there is nothing to read. */
static void test_none(void **state)
{
	const struct serve_request request = { 0 };
	enum error id;

	(void)state;
	certificate_fini(&c);
	certificate_init(&c, &request);
	assert_int_equal(renew(&id), 0);
	certificate_restart(&c);
	assert_int_equal(c.offered, -1);
}

static int setup(void **state)
{
	(void)state;
	if (scratch_make(":"))
		return -1;
	for (int i = 0; i < WIRE_PEMS; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%d.pem", folder, i);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_renew, begin, finish),
		cmocka_unit_test_setup_teardown(test_restart, begin, finish),
		cmocka_unit_test_setup_teardown(test_unreadable, begin, finish),
		cmocka_unit_test_setup_teardown(test_modes, begin, finish),
		cmocka_unit_test_setup_teardown(test_kinds, begin, finish),
		cmocka_unit_test_setup_teardown(test_empty, begin, finish),
		cmocka_unit_test_setup_teardown(test_none, begin, finish),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
