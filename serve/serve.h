// SPDX-License-Identifier: Apache-2.0
/*
 * The broker: operations for clients. It accepts connections and passes them to the front (front/),
 * an unprivileged program that speaks HTTP. It does what the front requests as far as the client's
 * role permits, each operation in a subprocess (ops/apart/subprocess.h).
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

/* The identity of a client. */
struct serve_peer {
	enum wire_transport transport;
	uid_t uid; /* WIRE_UNIX */
	pid_t pid; /* WIRE_UNIX, when it connected: the number may have been reused since */
	char address[SERVE_ADDRESS_SIZE]; /* TCP and TLS: "127.0.0.1:40312" */
	char name[SERVE_NAME_SIZE];	  /* of its token; or "" */
	bool certified;			  /* WIRE_TLS: the front has verified a certificate, */
	char subject[SERVE_NAME_SIZE];	  /* with this name; raw, see output_safe() */
	enum wire_role role;		  /* for this request */
};

/* An operation that has ended, was refused, or is a run that has begun. */
struct serve_event {
	struct timespec time;
	struct serve_peer peer; /* of the first asker */
	const char *op;
	const char *rule;	   /* for `op` "rule", which has no client: its name; or NULL */
	pid_t pid;		   /* 0: not about one process */
	char comm[PROC_COMM_SIZE]; /* raw, see output_safe(); "" if unknown */
	enum wire_refusal refusal; /* WIRE_DONE: it was attempted */
	bool ok;
	const struct err *err; /* why not; only valid in the callback */
	uint64_t run;	       /* the number of the run that it does or is about; 0: none */
	bool began;	       /* that run has begun; its end is another event */
	unsigned int shared;   /* how many other requests got the same answer */
	uint64_t bytes;	       /* of the answer */
	unsigned int stops;
	uint64_t pause_us; /* time that threads were stopped */
	uint64_t took_ms;  /* since the request */
};

/* "ok", "failed", "began", or a word for the refusal. */
const char *serve_verdict(const struct serve_event *event);

/* A guard of the service. */
struct serve_rule {
	char name[SERVE_NAME_SIZE + 1];
	struct ops_guard_request guard; /* without folder, callbacks and limits */
	struct ops_options options;
	bool by_default; /* it has no --when */
};
#define SERVE_RULES_MAX 32

struct serve_request {
	const char *socket; /* NULL: http.sock in the folder of base/private.h; "": no socket */
	/* "127.0.0.1:19477": TCP, for clients with a token or a certificate. */
	const char *const *ports;
	size_t n_ports;
	const char *tokens;	       /* token file, see serve/tokens.h; or NULL */
	const char *certificate, *key; /* PEM files for TLS on the ports; or NULL */
	const char *client_ca;	       /* PEM file of CAs for client certificates; or NULL */
	const char *client_crl;	       /* PEM file of their CRLs; or NULL */
	enum wire_role client_role;    /* of clients with a certificate */
	const char *const *hosts;      /* names of this host, besides loopback's */
	size_t n_hosts;
	const char *advertise; /* "HOST:PORT" for service discovery; NULL: the first port */
	const char *node;      /* name of this host for service discovery; NULL: the host name */
	const char *group;     /* its members may connect to the socket, too; or NULL */
	bool read_only;	       /* no client may change a process */
	bool watch;	       /* report dumps as events */
	const struct serve_rule *rules; /* need a folder of runs */
	size_t n_rules;
	unsigned int words;   /* 1u << enum wire_words for each enabled dialect */
	pid_t one_pid;	      /* the process for their paths without a PID; */
	const char *one_comm; /* or the only one of this name; 0 and NULL: none */
	const char *runs;     /* folder for runs; NULL: see serve/store.h; "": keep none */
	unsigned int keep;    /* this many runs; 0: all */
	uint64_t keep_bytes;  /* their total size; 0: no limit */
	unsigned int workers; /* concurrent operations */
	unsigned int waiting; /* queued operations */
	int log_fd;	      /* stderr of the front */

	/* It is listening, at `where`. */
	int (*ready)(void *ctx, const char *where, struct err *err);
	int (*event)(void *ctx, const struct serve_event *event, struct err *err);
	/* `rule`, or the watch if NULL, has started with this many processes. */
	void (*watching)(void *ctx, const struct serve_rule *rule, uint64_t processes);
	void (*on_warning)(void *ctx, const struct err *warning);
	void *ctx;
};

#define SERVE_HOSTS_MAX 64 /* more are ignored */
#define SERVE_WORKERS 2
#define SERVE_WORKERS_MAX 16
#define SERVE_WAITING 32
#define SERVE_WAITING_MAX 64

/*
 * Serve until options->stop_fd is readable; then operations are stopped and restore their targets.
 * The caller has SIGINT, SIGTERM and SIGHUP blocked. Uses the sockets that systemd(1) passes
 * (sd_listen_fds(3)), if any, and notifies it when ready (sd_notify(3)). ERR_BUSY: another service
 * has the socket; ERR_FAILED: the front cannot be started; and the errors of the callbacks.
 */
int serve(const struct serve_request *request, const struct ops_options *options, struct err *err)
	__must_check;

#endif
