// SPDX-License-Identifier: Apache-2.0
/*
 * Operations for clients: the broker. It takes connections, has the front (front/, a program of its
 * own, which may do nothing) speak HTTP with them, and does what the front asks for as far as the
 * client may have it: each operation in a process of its own (ops/apart/subprocess.h).
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/err.h"
#include "ops/guard/guard.h"
#include "ops/ops.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define SERVE_ADDRESS_SIZE 64
#define SERVE_NAME_SIZE 32

/* Who a client is. */
struct serve_peer {
	enum wire_transport transport;
	uid_t uid; /* WIRE_UNIX */
	pid_t pid; /* the same, when it connected: another may have the number since */
	char address[SERVE_ADDRESS_SIZE]; /* of the others: "127.0.0.1:40312" */
	char name[SERVE_NAME_SIZE];	  /* of its token; "" if it has none */
	bool certified; /* WIRE_TLS: the front has seen a certificate of it that counts, */
	char subject[SERVE_NAME_SIZE]; /* and says that it is this one's; raw, see output_safe() */
	enum wire_role role;	       /* when it asked */
};

/* An operation that came to its end, or was refused. */
struct serve_event {
	struct timespec time;
	struct serve_peer peer; /* who asked first */
	const char *op;
	const char *rule;	   /* of "rule", which no client asked for: its name; or NULL */
	pid_t pid;		   /* 0: it is of no one process */
	char comm[PROC_COMM_SIZE]; /* raw, see output_safe(); "" if unknown */
	enum wire_refusal refusal; /* WIRE_DONE: it was done, or tried */
	bool ok;
	const struct err *err; /* why not; valid in the callback alone */
	uint64_t run;	       /* the number of the run that it is, or is about; 0: none */
	bool began;	       /* it is that run, and goes on: its end is told as well */
	unsigned int shared;   /* how many more got the same answer */
	uint64_t bytes;	       /* of it */
	unsigned int stops;
	uint64_t pause_us; /* how long threads were stopped */
	uint64_t took_ms;  /* since it was asked for */
};

/* "ok", "failed", "began", or why it was refused. */
const char *serve_verdict(const struct serve_event *event);

/* A guard that is the service's own. */
struct serve_rule {
	char name[SERVE_NAME_SIZE + 1];
	struct ops_guard_request guard; /* without folder, callbacks, and what ends it */
	struct ops_options options;
	bool by_default; /* it says nothing of when */
};
#define SERVE_RULES_MAX 32

struct serve_request {
	const char *socket;	  /* NULL: http.sock in the folder of base/private.h; "": none */
	const char *const *ports; /* "127.0.0.1:19477": TCP, for who has a token or a certificate */
	size_t n_ports;
	const char *tokens;	       /* a file of them, see serve/tokens.h; NULL: none */
	const char *certificate, *key; /* files in PEM: the ports speak TLS; NULL: they do not */
	const char *client_ca;	       /* the same, of who signs certificates of clients; or NULL */
	const char *client_crl;	       /* the same, of those they have revoked; or NULL */
	enum wire_role client_role;    /* what such a client may */
	const char *const *hosts;      /* names of this host, besides loopback's */
	size_t n_hosts;
	const char *advertise; /* where the ports are, for others: "HOST:PORT"; NULL: the first */
	const char *node;      /* what others call this host; NULL: its host name */
	const char *group;     /* whose members may connect to it; NULL: the owner's alone */
	bool read_only;	       /* nobody may change a process */
	bool watch;	       /* dumps are events, too */
	const struct serve_rule *rules; /* they need a folder of runs */
	size_t n_rules;
	unsigned int words;   /* 1u << enum wire_words of each that clients may use */
	pid_t one_pid;	      /* of which process, where a path in these words names none; */
	const char *one_comm; /* or the only one of this name; 0 and NULL: there are none such */
	const char *runs;     /* a folder for results; NULL: see serve/store.h; "": none is kept */
	unsigned int keep;    /* so many of them; 0: all */
	uint64_t keep_bytes;  /* of them together; 0: no limit */
	unsigned int workers; /* operations at once */
	unsigned int waiting; /* how many more may wait */
	int log_fd;	      /* what the front complains of goes there */

	/* It can be connected to, at `where`. */
	int (*ready)(void *ctx, const char *where, struct err *err);
	int (*event)(void *ctx, const struct serve_event *event, struct err *err);
	/* Of so many processes, and those that start: dumps are watched, or `rule` is at work. */
	void (*watching)(void *ctx, const struct serve_rule *rule, uint64_t processes);
	void (*on_warning)(void *ctx, const struct err *warning);
	void *ctx;
};

#define SERVE_HOSTS_MAX 64 /* more are passed over */
#define SERVE_WORKERS 2
#define SERVE_WORKERS_MAX 16
#define SERVE_WAITING 32
#define SERVE_WAITING_MAX 64

/*
 * Until options->stop_fd, which ends operations with care. The caller has SIGINT, SIGTERM and
 * SIGHUP blocked. Where systemd(1) started it with sockets (sd_listen_fds(3)), it listens on these,
 * and it says when it is ready (sd_notify(3)). ERR_BUSY when another one has the socket;
 * ERR_FAILED when the front cannot be started, and what the callbacks return.
 */
int serve(const struct serve_request *request, const struct ops_options *options, struct err *err)
	__must_check;

#endif
