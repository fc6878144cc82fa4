// SPDX-License-Identifier: Apache-2.0
#include "api/discover.h"

#include <stdio.h>
#include <sys/utsname.h>

static void set_number(struct json_object *labels, const char *name, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	json_set_text(labels, name, text);
}

static void set_tristate(struct json_object *labels, const char *name, enum tristate t)
{
	json_set_text(labels, name, t == TRI_UNKNOWN ? "" : t == TRI_YES ? "true" : "false");
}

/* Labels that begin with two underscores are dropped after relabeling, unless copied to others. */
static struct json_object *labels_of(const struct ops_process *p, const char *node, bool tls)
{
	struct json_object *labels = json_object_new_object();

	set_number(labels, "__param_pid", (unsigned int)p->pid);
	if (tls)
		json_set_text(labels, "__scheme__", "https");
	json_set_text(labels, "service_name", p->service_name);
	json_set_text(labels, "comm", p->comm);
	set_number(labels, "pid", (unsigned int)p->pid);
	json_set_text(labels, "node", node);
	json_set_text(labels, "unit", p->unit);
	json_set_text(labels, "container_id", p->container_id);
	json_set_text(labels, "pod_uid", p->pod_uid);
	json_set_text(labels, "__meta_jeprof_exe", p->exe ? p->exe : "");
	json_set_text(labels, "__meta_jeprof_cgroup", p->cgroup);
	json_set_text(labels, "__meta_jeprof_container", p->container);
	json_set_text(labels, "__meta_jeprof_qos_class", p->qos_class ? p->qos_class : "");
	set_number(labels, "__meta_jeprof_uid", p->uid);
	json_set_text(labels, "__meta_jeprof_version", p->version);
	json_set_text(labels, "__meta_jeprof_prefix", p->prefix);
	json_set_text(labels, "__meta_jeprof_linkage", jemalloc_linkage_name(p->linkage));
	set_tristate(labels, "__meta_jeprof_opt_prof", p->opt_prof);
	set_tristate(labels, "__meta_jeprof_prof_active", p->prof_active);
	return labels;
}

struct json_object *api_discover(const struct ops_list *list, const char *target, const char *node,
				 bool tls, bool all)
{
	struct json_object *array = json_object_new_array();
	struct utsname host;

	uname(&host);
	if (!node)
		node = host.nodename;
	for (size_t i = 0; i < list->n; i++) {
		const struct ops_process *p = &list->v[i];
		struct json_object *one, *targets;

		/* With several jemallocs, the first is the one that is profiled. */
		if (i && p->pid == p[-1].pid)
			continue;
		if (!all && (p->opt_prof != TRI_YES || p->prof_active != TRI_YES))
			continue;
		one = json_object_new_object();
		targets = json_object_new_array();
		json_object_array_add(targets, json_text(target));
		json_set(one, "targets", targets);
		json_set(one, "labels", labels_of(p, node, tls));
		json_object_array_add(array, one);
	}
	return array;
}
