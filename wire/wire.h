// SPDX-License-Identifier: Apache-2.0
/*
 * What the two processes of `serve` say to each other, over a socket of theirs (SOCK_SEQPACKET).
 * The broker may trace processes and speaks no HTTP; the front speaks HTTP and may do nothing. So
 * the broker takes nothing from the front but numbers, and a name for the log: no text of the
 * network becomes a path, a name of jemalloc's or a command.
 *
 * A message is one of the two structures below, whole, with one descriptor at most. Both are of
 * the same build: the version is that of the structures, and another one ends the front.
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION 1
#define WIRE_FD 3 /* the front's end of the socket, when it is started */

/* What may be asked for, and what a client must be allowed for it. */
enum wire_role {
	WIRE_ROLE_NONE,
	WIRE_ROLE_READ,	   /* what can be seen without a call in a process */
	WIRE_ROLE_PROFILE, /* and what a call in it tells */
	WIRE_ROLE_CONTROL, /* and what changes it */
	WIRE_ROLES
};

const char *wire_role_name(enum wire_role role); /* "read"; "" of none */

/* What it is about, which has to be named. */
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
/* Does it end a run early, and is answered when that has ended? */
bool wire_ends_run(enum wire_op op);
/* Does it begin a run, which is answered when it has begun, and goes on? */
bool wire_is_run(enum wire_op op);
const char *wire_op_name(enum wire_op op); /* "list"; for logs */

/*
 * In whose words a client asks, and is answered: those of a service that had such paths of its own,
 * for the scripts that were written for it. They are refused but for those the broker was given.
 */
enum wire_words { WIRE_OWN_WORDS, WIRE_MESOS, WIRE_MTEV, WIRE_TIKV, WIRE_WORDS };

/* The words that an operation is there for alone; WIRE_OWN_WORDS: it is there in any. */
enum wire_words wire_words_of(enum wire_op op);

/* How what is asked for is to be written. X(id, media type, suffix of a file) */
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
	WIRE_READY = 1, /* the front is confined: connections may come */
	WIRE_ASK,
	WIRE_CANCEL, /* who asked for `id` has gone */
	WIRE_CLOSED, /* `connection` has ended */
	WIRE_LOADED, /* what WIRE_CREDENTIALS brought; `id` is an enum wire_loaded */
	WIRE_TO_BROKER_KINDS
};

#define WIRE_HAS_TOKEN 1u
#define WIRE_TEXT_ERRORS 2u	 /* an error is to be text, and not JSON */
#define WIRE_IF_ACTIVE 4u	 /* DUMP: only while prof.active is true */
#define WIRE_HAS_LG 8u		 /* RESET, RECORD, SAMPLE: lg_sample counts */
#define WIRE_TOUCH 16u		 /* METRICS: jemalloc's own statistics of `pid`, too: as STATS */
#define WIRE_ALL 32u		 /* DISCOVER: also those that cannot be profiled now */
#define WIRE_HAS_CERTIFICATE 64u /* the client's, by an authority of WIRE_CREDENTIALS */
#define WIRE_GROWTH 128u  /* RUN_PROFILE: what it has more than the profile of its beginning */
#define WIRE_AT_ROOT 256u /* a path of another service: of the process that the broker was given */
#define WIRE_HAS_SINCE 512u /* EVENTS: `since` counts */
#define WIRE_FLAGS 1023u
#define WIRE_OF_CLIENT (WIRE_HAS_TOKEN | WIRE_HAS_CERTIFICATE) /* who asks, and not what for */

#define WIRE_TOKEN_SIZE 32
#define WIRE_SUBJECT_SIZE 32
#define WIRE_ADDRESSES_MAX 65536 /* of SYMBOLS: each of 8 bytes, in a sealed memory file */
#define WIRE_SECONDS_MAX 3600
#define WIRE_WAIT_MAX 60 /* seconds */
#define WIRE_DURATION_MAX_MS 86400000u

struct wire_to_broker {
	uint32_t version, kind;
	uint64_t connection; /* that it came by, as WIRE_CONNECTION said */
	uint64_t id;	     /* the front's, never used twice */
	uint32_t op, flags, format;
	int32_t pid;	     /* 0: none */
	uint64_t start_time; /* as in struct ops_options; 0: any */
	int32_t lg_sample;
	uint32_t seconds;     /* DUMP: what happened in so many; 0: what lives now */
	uint32_t duration_ms; /* RECORD, SAMPLE */
	uint32_t words;	      /* enum wire_words */
	uint64_t run, base;   /* a number; RUN_PROFILE: what it has more than that one; 0: none */
	uint64_t since; /* EVENTS: those behind that id, for which it waits `seconds` at most */
	unsigned char token[WIRE_TOKEN_SIZE];
	char subject[WIRE_SUBJECT_SIZE]; /* HAS_CERTIFICATE: whose it is, as the front says */
};

/* What the front makes of credentials. */
enum wire_loaded {
	WIRE_LOADED_GOOD,
	WIRE_LOADED_EXPIRED, /* good but for the time, as clients will see */
	WIRE_LOADED_EARLY,   /* the same: it is not valid yet */
	WIRE_LOADED_NO_CERTIFICATE,
	WIRE_LOADED_NO_KEY,    /* or it is encrypted */
	WIRE_LOADED_OTHER_KEY, /* not the certificate's */
	WIRE_LOADED_NO_CLIENT_CA,
	WIRE_LOADED_NO_CLIENT_CRL,
	WIRE_LOADED_FAILED,
	WIRE_LOADED_STATES
};

/* With these it goes on. */
bool wire_loaded_is_good(enum wire_loaded loaded);

/* What a client must be allowed for this. */
enum wire_role wire_role_needed(const struct wire_to_broker *m);

/* Is it one that a front can send? What it may do is another question. `has_fd`: one came along. */
bool wire_is_valid(const struct wire_to_broker *m, bool has_fd);

/* --- to the front --- */

enum wire_to_front_kind {
	WIRE_CONNECTION = 1, /* a client's, with its descriptor: serve it */
	WIRE_ANSWER,	     /* to `id`; with a memory file that is sealed, unless `bytes` is 0 */
	WIRE_END,	     /* finish what is being sent, and end */
	WIRE_CREDENTIALS,    /* for WIRE_TLS, from now on: a memory file that is sealed */
	WIRE_TO_FRONT_KINDS
};

/* Why the broker did not do what was asked. */
enum wire_refusal {
	WIRE_DONE,	   /* it did, or tried to: `code` says how that went */
	WIRE_UNKNOWN_PEER, /* a token is needed, or it is not one that is known */
	WIRE_NOT_ALLOWED,  /* the role is not enough */
	WIRE_FULL,	   /* too many wait; later */
	WIRE_NO_ONE,	   /* WIRE_AT_ROOT: no process is meant, */
	WIRE_SEVERAL,	   /* or several are */
	WIRE_REFUSALS
};

/* What is wrong, where that has a status of its own in HTTP. */
enum wire_reason {
	WIRE_ANY,	    /* `code` says it */
	WIRE_INACTIVE,	    /* prof.active is false, and WIRE_IF_ACTIVE was given */
	WIRE_NO_RUN,	    /* there is no run of that number, or it has no such profile */
	WIRE_ENDING,	    /* the service is */
	WIRE_OTHER_PROGRAM, /* two runs of one program can be compared alone */
	WIRE_REASONS
};

/* How a connection came. */
enum wire_transport { WIRE_UNIX, WIRE_TCP, WIRE_TLS, WIRE_TRANSPORTS };

/* The head of the file of WIRE_CREDENTIALS: so many bytes of each, in PEM, are behind it. */
enum wire_pem {
	WIRE_PEM_CERTIFICATE,
	WIRE_PEM_KEY,
	WIRE_PEM_CLIENT_CA,
	WIRE_PEM_CLIENT_CRL,
	WIRE_PEMS
};
#define WIRE_PEM_MAX (1u << 20)

struct wire_credentials {
	uint32_t bytes[WIRE_PEMS]; /* CLIENT_CA: 0: clients are asked for no certificate */
};

#define WIRE_NAME_SIZE 96

struct wire_to_front {
	uint32_t version, kind;
	uint64_t connection; /* CONNECTION */
	uint32_t transport;
	uint32_t refusal; /* ANSWER, from here on */
	uint64_t id;
	uint32_t code;	 /* enum err_code */
	uint32_t format; /* enum wire_format: of an error as it was asked for */
	uint64_t bytes;
	uint64_t pause_us; /* how long threads of the process were stopped */
	uint32_t stops;	   /* how often */
	uint32_t reason;   /* enum wire_reason */
	uint64_t run;  /* RECORD, SAMPLE: the number; it has begun. EVENTS: the id to go on from */
	uint32_t role; /* enum wire_role: of who asked */
	uint32_t unused;	   /* 0 */
	char name[WIRE_NAME_SIZE]; /* for a file: letters, digits, '.', '_', '-'; may be "" */
};

/* --- sending and receiving --- */

/*
 * Send one message whole; `fd` is -1 or a descriptor that the other side gets a copy of. Fails
 * with errno: EAGAIN where the socket does not block and is full.
 */
int wire_send(int sock, const void *message, size_t size, int fd) __must_check;

/*
 * Receive one of exactly `size` bytes. *fd is the caller's, or -1. 1: received, 0: the other side
 * has ended; -1 with errno: EAGAIN, or EBADMSG for what is no such message.
 */
int wire_receive(int sock, void *message, size_t size, int *fd) __must_check;

#endif
