// SPDX-License-Identifier: Apache-2.0
/*
 * The protocol between the two processes of `serve`, over a socket pair (SOCK_SEQPACKET). The
 * broker may trace processes, and does not speak HTTP; the front speaks HTTP, and is unprivileged.
 * The broker accepts only numbers from the front, and a name for the log: no text from the network
 * becomes a path, a mallctl name or a command.
 *
 * A message is one of the two structures below, with at most one descriptor. Both sides are of the
 * same build; a message with another version ends the front.
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION 1
#define WIRE_FD 3 /* the descriptor of the socket in the front */

/* Roles of clients. Each includes the ones before. */
enum wire_role {
	WIRE_ROLE_NONE,
	WIRE_ROLE_READ,	   /* what is visible without a call in a process */
	WIRE_ROLE_PROFILE, /* results of calls in a process */
	WIRE_ROLE_CONTROL, /* changes to a process, and its runs */
	WIRE_ROLES
};

const char *wire_role_name(enum wire_role role); /* "read"; "" for WIRE_ROLE_NONE */

/* What an operation is about, and must name. */
enum wire_about { WIRE_OF_ALL, WIRE_OF_PROCESS, WIRE_OF_RUN };

/* X(id, name, role, about) */
#define WIRE_OPS_ALL(X)                                          \
	X(LIST, "list", READ, OF_ALL)                            \
	X(METRICS, "metrics", READ, OF_ALL)                      \
	X(DISCOVER, "discover", READ, OF_ALL)                    \
	X(CHECK, "check", PROFILE, OF_PROCESS)                   \
	X(STATUS, "status", PROFILE, OF_PROCESS)                 \
	X(EXPLAIN, "explain", PROFILE, OF_PROCESS)               \
	X(STATS, "stats", PROFILE, OF_PROCESS)                   \
	X(THREADS, "threads", PROFILE, OF_PROCESS)               \
	X(DUMP, "dump", PROFILE, OF_PROCESS)                     \
	X(SYMBOLS, "symbols", PROFILE, OF_PROCESS)               \
	X(CMDLINE, "cmdline", PROFILE, OF_PROCESS)               \
	X(ACTIVATE, "activate", CONTROL, OF_PROCESS)             \
	X(DEACTIVATE, "deactivate", CONTROL, OF_PROCESS)         \
	X(RESET, "reset", CONTROL, OF_PROCESS)                   \
	X(RECORD, "record", CONTROL, OF_PROCESS)                 \
	X(SAMPLE, "sample", CONTROL, OF_PROCESS)                 \
	X(RUNS, "runs", READ, OF_ALL)                            \
	X(RUN, "run", READ, OF_RUN)                              \
	X(RUN_PROFILE, "run_profile", PROFILE, OF_RUN)           \
	X(RUN_STOP, "run_stop", CONTROL, OF_RUN)                 \
	X(RUN_DELETE, "run_delete", CONTROL, OF_RUN)             \
	X(EVENTS, "events", READ, OF_ALL)                        \
	X(MESOS_START, "mesos_start", CONTROL, OF_PROCESS)       \
	X(MESOS_STOP, "mesos_stop", CONTROL, OF_PROCESS)         \
	X(MESOS_STATE, "mesos_state", PROFILE, OF_PROCESS)       \
	X(MESOS_DOWNLOAD, "mesos_download", PROFILE, OF_PROCESS) \
	X(MTEV_STATE, "mtev_state", PROFILE, OF_PROCESS)         \
	X(TIKV_LIST, "tikv_list", PROFILE, OF_PROCESS)

enum wire_op {
	WIRE_OP_NONE,
#define OP(id, name, role, about) WIRE_##id,
	WIRE_OPS_ALL(OP)
#undef OP
		WIRE_OPS
};

enum wire_about wire_about(enum wire_op op);
/* Does it stop a run? It is answered when the run has ended. */
bool wire_ends_run(enum wire_op op);
/* Does it start a run? It is answered when the run has begun. */
bool wire_is_run(enum wire_op op);
const char *wire_op_name(enum wire_op op); /* "list"; for logs */

/*
 * The dialect of a request and its answer: our own API, or that of another service, for scripts
 * written for it. The broker refuses dialects that are not enabled.
 */
enum wire_words { WIRE_OWN_WORDS, WIRE_MESOS, WIRE_MTEV, WIRE_TIKV, WIRE_WORDS };

/* The only dialect that has this operation; WIRE_OWN_WORDS: any has it. */
enum wire_words wire_words_of(enum wire_op op);

/* Formats of answers. X(id, media type, file suffix) */
#define WIRE_FORMATS_ALL(X)                                                                   \
	X(JSON, "application/json", ".json")                                                  \
	X(TEXT, "text/plain; charset=utf-8", ".txt")                                          \
	X(PROM, "text/plain; version=0.0.4; charset=utf-8", ".prom")                          \
	X(OPENMETRICS, "application/openmetrics-text; version=1.0.0; charset=utf-8", ".prom") \
	X(HEAP, "application/octet-stream", ".heap")                                          \
	X(PPROF, "application/octet-stream", ".pb.gz")                                        \
	X(FOLDED, "text/plain; charset=utf-8", ".folded")                                     \
	X(SPEEDSCOPE, "application/json", ".speedscope.json")                                 \
	X(HTML, "text/html; charset=utf-8", ".html")                                          \
	X(SVG, "image/svg+xml", ".svg")                                                       \
	X(NDJSON, "application/x-ndjson", ".ndjson")

enum wire_format {
#define FORMAT(id, type, suffix) WIRE_FORMAT_##id,
	WIRE_FORMATS_ALL(FORMAT)
#undef FORMAT
		WIRE_FORMATS
};

const char *wire_media_type(enum wire_format format);
const char *wire_suffix(enum wire_format format);

/* --- to the broker --- */

enum wire_to_broker_kind {
	WIRE_READY = 1, /* the front is confined, and accepts connections */
	WIRE_ASK,
	WIRE_CANCEL, /* the client that sent `id` has disconnected */
	WIRE_CLOSED, /* `connection` was closed */
	WIRE_LOADED, /* the result of WIRE_CREDENTIALS; `id` is an enum wire_loaded */
	WIRE_TO_BROKER_KINDS
};

#define WIRE_HAS_TOKEN 1u
#define WIRE_TEXT_ERRORS 2u	 /* errors as text, not JSON */
#define WIRE_IF_ACTIVE 4u	 /* DUMP: only if prof.active is true */
#define WIRE_HAS_LG 8u		 /* RESET, RECORD, SAMPLE: lg_sample is set */
#define WIRE_TOUCH 16u		 /* METRICS: with jemalloc's statistics of `pid`, as STATS */
#define WIRE_ALL 32u		 /* DISCOVER: include processes that cannot be profiled now */
#define WIRE_HAS_CERTIFICATE 64u /* of the client, verified by WIRE_CREDENTIALS */
#define WIRE_GROWTH 128u	 /* RUN_PROFILE: the growth since its beginning */
#define WIRE_AT_ROOT 256u /* of another service: the process is the one configured in the broker */
#define WIRE_HAS_SINCE 512u /* EVENTS: `since` is set */
#define WIRE_FLAGS 1023u
#define WIRE_OF_CLIENT (WIRE_HAS_TOKEN | WIRE_HAS_CERTIFICATE) /* about the client */

#define WIRE_TOKEN_SIZE 32
#define WIRE_SUBJECT_SIZE 32
#define WIRE_ADDRESSES_MAX 65536 /* SYMBOLS: 8 bytes each, in a sealed memory file */
#define WIRE_SECONDS_MAX 3600
#define WIRE_WAIT_MAX 60 /* seconds */
#define WIRE_DURATION_MAX_MS 86400000u

struct wire_to_broker {
	uint32_t version, kind;
	uint64_t connection; /* as in WIRE_CONNECTION */
	uint64_t id;	     /* chosen by the front, unique */
	uint32_t op, flags, format;
	int32_t pid;	     /* 0: none */
	uint64_t start_time; /* as in struct ops_options; 0: any */
	int32_t lg_sample;
	uint32_t seconds;     /* DUMP: allocations during this time; 0: what is in use now */
	uint32_t duration_ms; /* RECORD, SAMPLE */
	uint32_t words;	      /* enum wire_words */
	uint64_t run, base;   /* numbers of runs; RUN_PROFILE: growth since `base`; 0: none */
	uint64_t since;	      /* EVENTS: later ids only; waits up to `seconds` */
	unsigned char token[WIRE_TOKEN_SIZE];
	char subject[WIRE_SUBJECT_SIZE]; /* HAS_CERTIFICATE: its subject */
};

/* The front's verdict on credentials. */
enum wire_loaded {
	WIRE_LOADED_GOOD,
	WIRE_LOADED_EXPIRED, /* in use, but expired */
	WIRE_LOADED_EARLY,   /* in use, but not valid yet */
	WIRE_LOADED_NO_CERTIFICATE,
	WIRE_LOADED_NO_KEY,    /* or it is encrypted */
	WIRE_LOADED_OTHER_KEY, /* it does not match the certificate */
	WIRE_LOADED_NO_CLIENT_CA,
	WIRE_LOADED_NO_CLIENT_CRL,
	WIRE_LOADED_FAILED,
	WIRE_LOADED_STATES
};

/* Are these credentials in use? */
bool wire_loaded_is_good(enum wire_loaded loaded);

/* The least role that may do this. */
enum wire_role wire_role_needed(const struct wire_to_broker *m);

/* Is the message well-formed? Does not check permissions. `has_fd`: it came with a descriptor. */
bool wire_is_valid(const struct wire_to_broker *m, bool has_fd);

/* --- to the front --- */

enum wire_to_front_kind {
	WIRE_CONNECTION = 1, /* a new connection, with its descriptor */
	WIRE_ANSWER,	     /* to `id`, with a sealed memory file unless `bytes` is 0 */
	WIRE_END,	     /* finish sending answers, and exit */
	WIRE_CREDENTIALS,    /* for new connections of WIRE_TLS: a sealed memory file */
	WIRE_TO_FRONT_KINDS
};

/* Why the broker refused a request. */
enum wire_refusal {
	WIRE_DONE,	   /* it did not: `code` is the outcome */
	WIRE_UNKNOWN_PEER, /* a token is missing or unknown */
	WIRE_NOT_ALLOWED,  /* the role does not suffice */
	WIRE_FULL,	   /* too many requests are waiting */
	WIRE_NO_ONE,	   /* WIRE_AT_ROOT: there is no such process, */
	WIRE_SEVERAL,	   /* or several */
	WIRE_REFUSALS
};

/* Errors that have an HTTP status of their own. */
enum wire_reason {
	WIRE_ANY,	    /* see `code` */
	WIRE_INACTIVE,	    /* prof.active is false, with WIRE_IF_ACTIVE */
	WIRE_NO_RUN,	    /* no such run, or it has no such profile */
	WIRE_ENDING,	    /* the service is ending */
	WIRE_OTHER_PROGRAM, /* only runs of the same program can be compared */
	WIRE_REASONS
};

/* The transport of a connection. */
enum wire_transport { WIRE_UNIX, WIRE_TCP, WIRE_TLS, WIRE_TRANSPORTS };

/* The parts of the file of WIRE_CREDENTIALS, in PEM. */
enum wire_pem {
	WIRE_PEM_CERTIFICATE,
	WIRE_PEM_KEY,
	WIRE_PEM_CLIENT_CA,
	WIRE_PEM_CLIENT_CRL,
	WIRE_PEMS
};
#define WIRE_PEM_MAX (1u << 20)

/* The header of that file: the sizes of the parts that follow. */
struct wire_credentials {
	uint32_t bytes[WIRE_PEMS]; /* CLIENT_CA 0: request no client certificates */
};

#define WIRE_NAME_SIZE 96

struct wire_to_front {
	uint32_t version, kind;
	uint64_t connection; /* CONNECTION */
	uint32_t transport;
	uint32_t refusal; /* ANSWER, as all that follow */
	uint64_t id;
	uint32_t code;	 /* enum err_code */
	uint32_t format; /* enum wire_format; of an error too */
	uint64_t bytes;
	uint64_t pause_us; /* time that threads of the process were stopped */
	uint32_t stops;	   /* number of stops */
	uint32_t reason;   /* enum wire_reason */
	uint64_t run;	   /* RECORD, SAMPLE: number of the run. EVENTS: id to continue from */
	uint32_t role;	   /* enum wire_role of the client */
	uint32_t unused;   /* 0 */
	char name[WIRE_NAME_SIZE]; /* file name: letters, digits, '.', '_', '-'; may be "" */
};

/* --- sending and receiving --- */

/*
 * Send a message; `fd` is -1 or a descriptor to pass along. Fails with errno; EAGAIN: a nonblocking
 * socket is full.
 */
int wire_send(int sock, const void *message, size_t size, int fd) __must_check;

/*
 * Receive a message of exactly `size` bytes. The caller closes *fd unless it is -1. 1: received; 0:
 * the other side has closed the socket; -1 with errno: EBADMSG: a malformed message; EAGAIN.
 */
int wire_receive(int sock, void *message, size_t size, int *fd) __must_check;

#endif
