// SPDX-License-Identifier: Apache-2.0
#include "front/origin.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* The length of the name, without the port; 0 if malformed. */
static size_t name_len(const char *host)
{
	const char *end = *host == '[' ? strchr(host, ']') : NULL;
	size_t len = end ? (size_t)(end + 1 - host) : strcspn(host, ":");
	size_t digits = host[len] == ':' ? strspn(host + len + 1, "0123456789") : 0;

	if (host[len] == ':' && (digits > 5 || host[len + 1 + digits]))
		return 0;
	return host[len] && host[len] != ':' ? 0 : len;
}

static bool is_name(const char *host, size_t len, const char *name)
{
	return len && strlen(name) == len && !strncasecmp(host, name, len);
}

/* "10.0.0.7", "[fd00::7]" */
static bool is_address(const char *host, size_t len)
{
	bool six = len > 2 && *host == '[';
	char text[INET6_ADDRSTRLEN] = "";
	struct in6_addr address;

	if (len && len < sizeof(text))
		memcpy(text, host + six, len - 2 * six);
	return inet_pton(six ? AF_INET6 : AF_INET, text, &address) == 1;
}

static bool is_ours(const char *host, const char *const *hosts, size_t n_hosts)
{
	static const char *const always[] = { "localhost", "127.0.0.1", "[::1]" };
	size_t len = host ? name_len(host) : 0;

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (is_name(host, len, always[i]))
			return true;
	for (size_t i = 0; i < n_hosts; i++)
		if (is_name(host, len, hosts[i]))
			return true;
	return false;
}

static bool is_safe(const char *method)
{
	return !strcmp(method, "GET") || !strcmp(method, "HEAD") || !strcmp(method, "OPTIONS");
}

/*
 * Is the Origin, "https://name:port" or "null", that of the Host? Without TLS the scheme may be
 * either: there may be a TLS proxy.
 */
static bool is_same(enum wire_transport transport, const char *origin, const char *host)
{
	const char *at = strstr(origin, "://");

	if (transport == WIRE_TLS && strncasecmp(origin, "https:", 6) != 0)
		return false;
	return at && host && !strcasecmp(at + 3, host);
}

enum origin_verdict origin_judge(enum wire_transport transport, const struct origin *o,
				 const char *const *hosts, size_t n_hosts)
{
	if (transport == WIRE_UNIX)
		return o->origin || o->referer ? ORIGIN_BROWSER : ORIGIN_GOOD;
	if (!is_ours(o->host, hosts, n_hosts) &&
	    !(transport == WIRE_TLS && o->host && is_address(o->host, name_len(o->host))))
		return ORIGIN_OTHER_HOST;
	if (o->origin && !is_same(transport, o->origin, o->host))
		return ORIGIN_OTHER_SITE;
	if ((is_safe(o->method) && !o->changes) || !o->fetch_site)
		return ORIGIN_GOOD;
	return !strcmp(o->fetch_site, "same-origin") || !strcmp(o->fetch_site, "none")
		       ? ORIGIN_GOOD
		       : ORIGIN_OTHER_SITE;
}
