// SPDX-License-Identifier: Apache-2.0
#include "serve/certificate.h"

#include "base/cleanup.h"
#include "io/config.h"
#include "io/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pem {
	char *text;
	size_t n;
};

static void pem_fini(struct pem *pem)
{
	if (pem->text)
		explicit_bzero(pem->text, pem->n);
	free(pem->text);
}

/*
 * A user who can write to the client CA file can let any client in, and one who can read the key
 * can impersonate this host. A group may read the key, as Debian's ssl-cert does.
 */
static int read_file(const char *path, bool secret, struct pem *pem, struct err *err)
{
	static const struct config_kind kind = { ERROR_PEM_UNREADABLE, ERROR_PEM_NOT_OURS,
						 FIX_CHMOD_PEM };
	struct stat st;
	_cleanup_(cleanup_close) int fd = config_open(path, &kind, &st, err);
	ssize_t got;

	if (fd < 0)
		return -1;
	if (secret && st.st_mode & S_IROTH) {
		err_raise(err, ERROR_KEY_NOT_SECRET, .path = path);
		return err_advise(err, FIX_CHMOD_KEY, .path = path);
	}
	if (st.st_size > WIRE_PEM_MAX)
		return err_raise(err, ERROR_PEM_TOO_LONG, .path = path, .max = WIRE_PEM_MAX);
	pem->n = (size_t)st.st_size;
	pem->text = malloc(pem->n + 1);
	if (!pem->text)
		return err_no_memory(err);
	got = read(fd, pem->text, pem->n);
	if (got < 0)
		return err_raise_sys(err, ERROR_PEM_UNREADABLE, errno, .path = path);
	pem->n = (size_t)got;
	return 0;
}

static int write_all(int fd, const void *bytes, size_t n, struct err *err)
{
	if (write(fd, bytes, n) == (ssize_t)n)
		return 0;
	return err_raise_sys(err, ERROR_MEMORY_FILE_FAILED, errno, .what = "write");
}

static int gather(const struct certificate *c, int *fd, struct err *err)
{
	static const enum error none[WIRE_PEMS] = {
		[WIRE_PEM_CERTIFICATE] = ERROR_NO_CERTIFICATE,
		[WIRE_PEM_KEY] = ERROR_NO_KEY,
		[WIRE_PEM_CLIENT_CA] = ERROR_NO_CLIENT_CA,
		[WIRE_PEM_CLIENT_CRL] = ERROR_NO_CLIENT_CRL,
	};
	_cleanup_(cleanup_close) int file = -1;
	struct wire_credentials head = { 0 };

	if (memory_file_make(&file, err) || write_all(file, &head, sizeof(head), err))
		return -1;
	for (int i = 0; i < WIRE_PEMS; i++) {
		_cleanup_(pem_fini) struct pem pem = { 0 };

		if (!c->paths[i])
			continue;
		if (read_file(c->paths[i], i == WIRE_PEM_KEY, &pem, err))
			return -1;
		/* To the front, empty means not given: without a CRL it admits revoked clients. */
		if (!pem.n)
			return err_raise(err, none[i], .path = c->paths[i]);
		if (write_all(file, pem.text, pem.n, err))
			return -1;
		head.bytes[i] = (uint32_t)pem.n;
	}
	lseek(file, 0, SEEK_SET);
	if (write_all(file, &head, sizeof(head), err) || memory_file_seal(file, err))
		return -1;
	*fd = take_fd(file);
	return 0;
}

void certificate_init(struct certificate *c, const struct serve_request *r)
{
	*c = (struct certificate){ .paths = { [WIRE_PEM_CERTIFICATE] = r->certificate,
					      [WIRE_PEM_KEY] = r->key,
					      [WIRE_PEM_CLIENT_CA] = r->client_ca,
					      [WIRE_PEM_CLIENT_CRL] = r->client_crl },
				   .good = -1,
				   .offered = -1 };
}

static void drop(int *fd)
{
	cleanup_close(fd);
	*fd = -1;
}

void certificate_fini(struct certificate *c)
{
	drop(&c->good);
	drop(&c->offered);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && a->st_uid == b->st_uid &&
	       !memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) &&
	       !memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim));
}

int certificate_renew(struct certificate *c, struct err *err)
{
	bool changed = false;
	int fd = -1;

	if (c->offered >= 0)
		return 0;
	for (int i = 0; i < WIRE_PEMS; i++) {
		struct stat now = { 0 };

		if (c->paths[i] && stat(c->paths[i], &now))
			now = (struct stat){ 0 };
		/* Read a missing file as well: that gives the error. */
		changed = changed || (c->paths[i] && !is_same(&now, &c->seen[i]));
		c->seen[i] = now;
	}
	if (!changed)
		return 0;
	if (gather(c, &fd, err))
		return -1;
	c->offered = fd;
	return 1;
}

void certificate_withdraw(struct certificate *c)
{
	drop(&c->offered);
	memset(c->seen, 0, sizeof(c->seen));
}

void certificate_restart(struct certificate *c)
{
	if (c->good < 0)
		return;
	if (c->offered >= 0)
		certificate_withdraw(c);
	/* The good one is kept even if this front rejects it. */
	c->offered = fcntl(c->good, F_DUPFD_CLOEXEC, 3);
}

int certificate_judged(struct certificate *c, enum wire_loaded loaded, struct err *err)
{
	static const struct {
		enum error id;
		enum wire_pem of;
	} faults[WIRE_LOADED_STATES] = {
		[WIRE_LOADED_EXPIRED] = { ERROR_CERTIFICATE_EXPIRED, WIRE_PEM_CERTIFICATE },
		[WIRE_LOADED_EARLY] = { ERROR_CERTIFICATE_EARLY, WIRE_PEM_CERTIFICATE },
		[WIRE_LOADED_NO_CERTIFICATE] = { ERROR_NO_CERTIFICATE, WIRE_PEM_CERTIFICATE },
		[WIRE_LOADED_NO_KEY] = { ERROR_NO_KEY, WIRE_PEM_KEY },
		[WIRE_LOADED_OTHER_KEY] = { ERROR_OTHER_KEY, WIRE_PEM_KEY },
		[WIRE_LOADED_NO_CLIENT_CA] = { ERROR_NO_CLIENT_CA, WIRE_PEM_CLIENT_CA },
		[WIRE_LOADED_NO_CLIENT_CRL] = { ERROR_NO_CLIENT_CRL, WIRE_PEM_CLIENT_CRL },
		[WIRE_LOADED_FAILED] = { ERROR_CERTIFICATE_FAILED, WIRE_PEM_CERTIFICATE },
	};
	bool good = wire_loaded_is_good(loaded);

	if (good) {
		drop(&c->good);
		c->good = take_fd(c->offered);
	}
	drop(&c->offered);
	if (loaded == WIRE_LOADED_GOOD)
		return 0;
	err_raise(err, faults[loaded].id, .path = c->paths[faults[loaded].of]);
	return good ? 1 : -1;
}
