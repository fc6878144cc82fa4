#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# packaging/kubernetes: an API server would accept the objects; what they start, run as specified,
# profiles a process of another container, and needs each capability; and the configurations, alerts
# and dashboard only name what exists.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/image.sh
. tests/image.sh
# shellcheck source=tests/tls.sh
. tests/tls.sh
# shellcheck source=tests/serve.sh
. tests/serve.sh
# shellcheck source=tests/groups.sh
. tests/groups.sh
export NO_PROXY='*' HOME=$T PPROF_TMPDIR=$T
folder=packaging/kubernetes

# as_json: convert the YAML on stdin to an array
as_json()
{
	python3 -c 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)'
}

# --- the objects ---
kubectl kustomize "$folder" 2>"$T/kustomize" | as_json >"$T/objects"
is "$(<"$T/kustomize")" '' 'kustomize has no complaints'
is "$(jq -r '[.[].kind] | sort | join(" ")' "$T/objects")" 'DaemonSet Namespace Service' 'it has created all of them'
is "$(jq -r '[.[] | .metadata.namespace // .metadata.name] | unique | join(" ")' "$T/objects")" jeprof-ctl 'in one namespace'
as_json <"$folder/debug.yaml" | jq 'map(. + {apiVersion: "v1", kind: "Container", name: "it"})' >"$T/debug"
mapfile -t caps < <(sed -n '/^## Boundaries/q; s/^| \(`CAP_[^|]*\) | .*/\1/p' doc/threat-model.md | grep -o 'CAP_[A-Z_]*' | sed 's/^CAP_//')
like "${#caps[@]}" '^[5-9]|1[0-9]$' 'the threat model names capabilities'
is "$(printf 'CAP_%s\n' "${caps[@]}" | grep -vxF "$(sed -n 's/^CapabilityBoundingSet=//p' packaging/jeprof-ctl-serve.service | tr ' ' '\n')")" \
	'' 'the unit has them, too'
is "$(tests/drivers/kubernetes.mjs "$T/objects" "${caps[@]}")" 'as it should be' 'an API server would accept them, with these capabilities'
is "$(tests/drivers/kubernetes.mjs "$T/debug" "${caps[@]}")" 'as it should be' 'and what kubectl debug adds'
set='(.[] | select(.kind == "DaemonSet"))'
jq "$set.spec.template.spec" "$T/objects" >"$T/pod"
is "$(json '.containers[0].image' "$T/pod")" "jeprof-ctl:$(packaging/version)" 'the image is of this version'
is "$(json '[.hostPID, .automountServiceAccountToken, .hostNetwork] | map(tostring) | join(" ")' "$T/pod")" 'true false null' \
	'processes of the host, no account, no network of the host'

# wrong FILTER SAID NAME: objects that jq has changed are rejected
wrong()
{
	jq "$1" "$T/objects" >"$T/changed" || bail_out "jq: $1"
	like "$(tests/drivers/kubernetes.mjs "$T/changed" "${caps[@]}")" "$2" "control: $3"
}
pod="$set.spec.template.spec" security="$set.spec.template.spec.containers[0].securityContext"
wrong "$pod.hostPid = true" 'spec/hostPid: it is not known' 'an unknown field'
wrong "$security.capabilitys = {}" 'securityContext/capabilitys: it is not known' 'an unknown field, nested'
wrong "$pod.hostPID = \"yes\"" 'hostPID: type' 'another type'
wrong "del($set.spec.selector)" 'spec: required' 'a missing field'
wrong "$set.apiVersion = \"apps/v2\"" 'such an object is not known' 'another version'
wrong "$security.capabilities.add += [\"NET_RAW\"]" 'NET_RAW.*; wanted: ' 'an extra capability'
wrong "$security.capabilities.add -= [\"KILL\"]" '; wanted: .*KILL' 'a missing capability'
wrong "$security.capabilities.add |= map(sub(\"SYS_ADMIN\"; \"CAP_SYS_ADMIN\"))" 'is refused here' 'what the API refuses'
wrong "del($security.capabilities.drop)" 'are not dropped' 'other capabilities'
wrong "$pod.volumes[0].name = \"other\"" 'there is no volume tokens' 'a volume by another name'
wrong "$pod.containers[0].livenessProbe.httpGet.port = \"http\"" 'there is no port http' 'a port by another name'
wrong "$pod.containers[0].env[0].name = \"IP\"" 'there is no variable POD_IP' 'a variable by another name'
wrong "$pod.containers[0].ports[0].hostPort = 1" 'a port of the host' 'a port of the host'
wrong '(.[] | select(.kind == "Service")).spec.selector = {"a": "b"}' 'it selects nothing' 'a service that selects nothing'

# --- the running pod ---
# With a library that allocates in a function whose name only its file has; after an update, no path
# leads to that file.
cc -shared -fPIC -O1 -o "$T/held.so" tests/target/preloaded.c || bail_out 'no compiler'
PROF=${PROF/active:false/active:true} start_redis_container shop "$T/held.so"
redis=$pid
rm "$T/shop.root/held.so" "$T"/shop.root/usr/lib/*/libjemalloc*
ctl_ok 'deactivate' deactivate "$redis"
like "$(sed -n 's/^Seccomp:\t//p' "/proc/$redis/status") $(readlink "/proc/$redis/ns/pid" "/proc/$redis/ns/mnt" | paste -sd ' ')" \
	'^2 ' 'control: a container, with a filter'
load_redis
snapshot "$redis"

# The image's root, and volumes like a kubelet's.
root=$T/image
mkdir -p "$root"/{opt,proc,dev,run,tmp,etc/jeprof-ctl/{tokens,tls},var/{lib,cache,tmp}}
ok 'the program, for the image' make -s portable
cp -r build/portable "$root/opt/jeprof-ctl"
new_container it "$root"
port=$(free_port)
sed -i "s/:19477/:$port/" "$T/pod"
volumes=()
for volume in $(json '.volumes[] | select(.emptyDir) | .name' "$T/pod"); do
	mkdir -m 777 "$T/volume.$volume"
	volumes+=(-v "$volume=$T/volume.$volume")
done

# secret NAME FILE=SOURCE...: replace the contents atomically, by a link, like a kubelet
secret()
{
	local folder=$T/volume.$1 at file

	mkdir -p "$folder"
	at=$(mktemp -d "$folder/..XXXXXX")
	chmod 755 "$at"
	for file in "${@:2}"; do
		install -m "0$(printf %o "$(json ".volumes[] | select(.name == \"$1\") | .secret.defaultMode" "$T/pod")")" "${file#*=}" "$at/${file%%=*}"
		ln -sfn "..data/${file%%=*}" "$folder/${file%%=*}"
	done
	ln -sn "${at##*/}" "$folder/..new" && mv -T "$folder/..new" "$folder/..data"
	volumes+=(-v "$1=$folder")
}
run_ctl serve --token-file "$T/tokens" --new-token control:me
token=$out
make_ca ca
certify ca node serverAuth
certify ca next serverAuth
secret tokens "tokens=$T/tokens"
secret tls "tls.crt=$T/node.pem" "tls.key=$T/node.key"

# start_pod [ARGUMENTS OF oci-config...]: start it, and wait until it answers; set `front`
start_pod()
{
	start_container it "${pod_of_node:-$T/pod}" -e POD_IP=127.0.0.1 -e NODE_NAME=node7 "${volumes[@]}" "$@"
	within 60 curl -sfk "https://127.0.0.1:$port/healthz" || bail_out "it does not serve: $(<"$T/it.log")"
	front=$(pgrep -P "$(<"$CONTAINERS/it/pid")" -f libexec/jeprof-ctl/http)
}

end_pod()
{
	end_child "$container"
	wait "$container"
	is $? 0 "$1: it ends" || diag "$(<"$T/it.log")"
}

# by [CURL OPTIONS...] PATH: make a request; set `code`, and leave the body in $T/body
by()
{
	code=$(curl -sS --cacert "$T/ca.pem" -H "Authorization: Bearer $token" -o "$T/body" -w '%{http_code}' \
		"${@:1:$#-1}" "https://127.0.0.1:$port${!#}" 2>&1)
}

# switch WHAT: activate or deactivate; print prof.active after that, or the error
switch()
{
	by -X POST "/api/v1/processes/$redis/$1"
	json '.error.id // .after' "$T/body"
}

# names REGEX: print how many functions in its profile match
names()
{
	by "/pid/$redis/debug/pprof/heap"
	go tool pprof -top "$T/body" 2>/dev/null | grep -cE "$1" || true
}

# of_front FIELD: print a field of the front's status
of_front()
{
	sed -n "s/^$1:[[:space:]]*\([^[:space:]]*\).*/\1/p" "/proc/$front/status"
}

start_pod
is "$(curl -sk -o /dev/null -w '%{http_code}' -H "Host: 10.1.2.3:$port" "https://127.0.0.1:$port/healthz")" 200 'a probe by the address of a pod'
by '/sd?all=1'
is "$(jq -c ".[] | select(.labels.pid == \"$redis\") | [.targets[0], .labels.node, .labels.comm]" "$T/body")" \
	"[\"127.0.0.1:$port\",\"node7\",\"redis-server\"]" 'a process of another container, where it is scraped, and the node'
is "$(switch activate)" true 'activate'
redis DEBUG POPULATE 3000 more 300 >/dev/null
is "$(names debugCommand)" 1 'a profile'
is "$(names hold_in_library)" 1 'with names of a file that was deleted'
is "$(of_front CapBnd) $(of_front NoNewPrivs)" '0000000000000000 1' 'the HTTP process can never gain a capability'
like "$(of_front Uid)" '^[1-9]' 'it is not root'
like "$(readlink "/proc/$front/root")" ' \(deleted\)$' 'its root directory is deleted'
is "$(switch deactivate)" false 'deactivate'
by /metrics
is "$code $(promtool check metrics <"$T/body" 2>&1)" '200 ' 'metrics'
by -X POST "/api/v1/processes/$redis/record?duration=1h"
by -X POST "/api/v1/runs/$(json .id "$T/body")/stop"
is "$(json .state "$T/body")" stopped 'a recording is kept'
ok 'in the volume for it' eval 'ls -d "$T"/volume.state/jeprof-ctl/runs/[0-9]*'
secret tls "tls.crt=$T/next.pem" "tls.key=$T/next.key"
like "$(curl -skv "https://127.0.0.1:$port/healthz" 2>&1)" 'subject: CN=next' 'a replaced secret takes effect without a restart'
end_pod 'with all capabilities'
like "$(ls -A "$root/run" "$root/tmp" "$root/var/tmp")" '^[^:]*:[^a-z]*/' 'nothing was written into the image'

# --- controls: each capability is needed ---
# lacks CAPABILITY NAME: check what does not work without it
lacks()
{
	case $1 in
	SYS_PTRACE) is "$(switch activate)" no_cap_sys_ptrace "$2" ;;
	DAC_READ_SEARCH) is "$(switch activate)" no_cap_dac_read_search "$2" ;;
	SYS_ADMIN) is "$(switch activate)" filters_forbidden "$2" ;;
	CHECKPOINT_RESTORE) is "$(switch activate) $(names hold_in_library) $(switch deactivate)" 'true 0 false' "$2" ;;
	KILL | SETUID | SETGID) is "$(of_front Uid)" 0 "$2" ;;
	SETPCAP) unlike "$(of_front CapBnd)" '^0+$' "$2" ;;
	SYS_CHROOT) is "$(readlink "/proc/$front/root")" / "$2" ;;
	*) ok "$2: there is a test" false ;;
	esac
}
for cap in "${caps[@]}"; do
	start_pod --without "$cap"
	lacks "$cap" "control: without $cap"
	end_pod "without $cap"
done
jq '.containers[0].securityContext.seccompProfile.type = "RuntimeDefault"' "$T/pod" >"$T/filtered"
pod_of_node=$T/filtered start_pod
is "$(switch activate)" filters_forbidden 'control: with a filter of its own'
end_pod 'with a filter of its own'

# --- limits in a cgroup namespace, as in containers; vm/62-cgroup-namespace.t tests leaving it ---
make_group 300 || bail_out 'memory cannot be limited here'
echo "$redis" >"$group/cgroup.procs"
limit()
{
	by /metrics
	sed -n "s/^jeprof_process_cgroup_limit_bytes{.*pid=\"$redis\".*} //p" "$T/body"
}
start_pod --cgroup-namespace
is "$(limit)" '' 'no control group is mounted: no limit is known'
is "$(switch activate) $(json .warning_id "$T/body")" 'true limits_hidden' 'activate warns'
is "$(switch deactivate)" false 'deactivate'
end_pod 'without control groups'
mkdir "$T/volume.cgroup"
mount --bind "${group%/*}" "$T/volume.cgroup" && mounted+=("$T/volume.cgroup")
jq '.volumes += [{name: "cgroup", hostPath: {path: "/sys/fs/cgroup"}}] |
	.containers[0].volumeMounts += [{name: "cgroup", mountPath: "/sys/fs/cgroup", readOnly: true}]' "$T/pod" >"$T/seeing"
mkdir -p "$root/sys/fs/cgroup"
pod_of_node=$T/seeing start_pod --cgroup-namespace -v "cgroup=$T/volume.cgroup"
is "$(limit)" $((300 << 20)) 'control groups of the host are mounted: the limit'
is "$(switch activate) $(json .warning_id "$T/body")" 'true null' 'activate does not warn'
is "$(switch deactivate)" false 'deactivate'
end_pod 'with control groups'
echo "$redis" >"${group%/*}/cgroup.procs"
assert_untouched "$redis" 'the process is untouched'

# --- scrapers ---
printf %s "$token" >"$T/token"
for file in prometheus parca; do
	sed "s|/etc/$file/jeprof-ctl/token|$T/token|; s|/etc/$file/jeprof-ctl/ca.crt|$T/ca.pem|" "$folder/$file.yaml" >"$T/$file.yaml"
done
# Debian's Prometheus does not support Kubernetes: check here how the pods are found.
is "$(as_json <"$T/prometheus.yaml" | jq -c '[.[0].scrape_configs[] | .kubernetes_sd_configs[]? | .role, .namespaces]')" \
	'["pod",{"names":["jeprof-ctl"]}]' 'Prometheus finds the pods'
as_json <"$T/prometheus.yaml" | jq '.[0] | .scrape_configs |= map(del(.kubernetes_sd_configs))' >"$T/prometheus.json"
ok 'promtool accepts the rest of its configuration' promtool check config "$T/prometheus.json"
sed 's/credentials_file/credentials_fil/' "$T/prometheus.json" >"$T/wrong.yaml"
like "$(promtool check config "$T/wrong.yaml" 2>&1)" 'credentials_fil not found' 'control: an unknown field'
# Parca's configuration is that of Prometheus, with profiles added.
as_json <"$T/parca.yaml" | jq '.[0] | del(.object_storage) | .scrape_configs |= map(del(.profiling_config, .scrape_timeout))' >"$T/shared.json"
ok 'promtool accepts what Parca shares with it' promtool check config "$T/shared.json"
is "$(as_json <"$T/parca.yaml" | jq -c '.[0].scrape_configs[] | .profiling_config.pprof_config | map_values(.enabled) | to_entries | sort_by(.key)[] | [.key, .value]' | paste -sd ' ')" \
	'["block",false] ["goroutine",false] ["memory",true] ["mutex",false] ["process_cpu",false]' 'Parca asks for heap profiles alone'
is "$(grep -oE 'profile\.[a-z_]+ |enabled = [a-z]+' "$folder/config.alloy" | tr -d '\n')" \
	'profile.memory enabled = trueprofile.process_cpu enabled = falseprofile.goroutine enabled = falseprofile.block enabled = falseprofile.mutex enabled = false' \
	'so does Alloy'
is "$(grep -c '{$' "$folder/config.alloy")" "$(grep -c '^ *}$' "$folder/config.alloy")" 'its blocks are closed'
# shellcheck disable=SC2016 # jq's
service=$(jq -r '.[] | select(.kind == "Service") | "\(.metadata.name).\(.metadata.namespace).svc:\(.spec.ports[0].port)"' "$T/objects")
is "$(grep -hoE '[a-z.-]+\.svc[:0-9]*' "$folder"/{daemonset,prometheus,parca}.yaml "$folder/config.alloy" | sort -u | paste -sd ' ')" \
	"${service%:*} $service" 'all use the name of the service'

# A real Prometheus, with the job that finds processes.
as_json <"$T/prometheus.yaml" | jq --arg url "https://127.0.0.1:$port/sd" '.[0] | .scrape_configs |= map(select(.http_sd_configs) |
	.http_sd_configs[0] += {url: $url, refresh_interval: "1s"} | .scrape_interval = "1s")' |
	sed 's/jeprof-ctl.jeprof-ctl.svc/localhost/' >"$T/found.json"
start_pod
is "$(switch activate)" true 'activate'
prometheus_port=$(free_port)
prometheus --config.file="$T/found.json" --storage.tsdb.path="$T/tsdb" --web.listen-address="127.0.0.1:$prometheus_port" >"$T/prometheus.log" 2>&1 &
own $!
prometheus=$!
query()
{
	curl -sS -G "http://127.0.0.1:$prometheus_port/api/v1/query" --data-urlencode "query=$1" | jq -r "$2"
}
within 120 eval '[ "$(query jemalloc_allocated_bytes ".data.result | length")" = 1 ]'
is "$(query jemalloc_allocated_bytes '.data.result[0].metric | [.pid, .comm, .node, .service_name] | join(" ")')" \
	"$redis redis-server node7 redis-server" 'Prometheus finds it, and reads the statistics of jemalloc'
is "$(query 'count({__name__=~"jeprof_.*"})' '.data.result | length')" 0 'and nothing twice'
end_child "$prometheus"
is "$(switch deactivate)" false 'deactivate'
end_pod 'scraped'

# --- alerts and the dashboard ---
rules=$folder/alerts.yaml dashboard=$folder/dashboard.json
# Metrics of limits exist only if a process has a limit.
make_group 200 || bail_out 'memory cannot be limited here'
in_group start_redis
start_serve all
curl -sS --unix-socket "$T/all.sock" -o "$T/metrics" http://localhost/metrics
end_serve all
stop_target "$pid"
ok 'promtool accepts the alerts' promtool check rules "$rules"
like "$(tests/drivers/promql-names "$T/metrics" "$rules" "$dashboard" "$T/expressions.yaml")" '^[0-9]+ expressions$' \
	'alerts and dashboard name what it exports'
ok 'promtool accepts the expressions of the dashboard' promtool check rules "$T/expressions.yaml"
is "$(jq -r '[.panels[] | .gridPos.x + .gridPos.w <= 24, (.targets | length > 0), .id] | flatten | map(select(. == false)) | length' "$dashboard") $(jq -r '[.panels[].id] | length == (unique | length)' "$dashboard")" \
	'0 true' 'its panels fit the grid, and have unique ids'
cat >"$T/test.yaml" <<END
rule_files: [$PWD/$rules]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
END
while read -r values name labels; do
	printf "      - {series: '%s{instance=\"a\",node=\"n\"%s}', values: '%sx180'}\n" "$name" "${labels:+,$labels}" "$values"
done >>"$T/test.yaml" <<'END'
0 up job="jeprof-ctl"
0+1 jeprof_ctl_operations_total op="dump",result="failed"
0+1 jeprof_ctl_operations_total op="dump",result="refused"
0+3 jeprof_ctl_pause_seconds_total op="dump"
20 jeprof_ctl_waiting
2 jeprof_ctl_workers
3 jeprof_processes_unseen reason="not_allowed"
3 jeprof_processes_omitted
95 jeprof_process_cgroup_used_bytes pid="7",comm="c"
100 jeprof_process_cgroup_limit_bytes pid="7",comm="c"
0 jeprof_prof_active pid="7",comm="c"
1 jeprof_process_info pid="7",comm="c",opt_prof="true"
END
echo '    alert_rule_test:' >>"$T/test.yaml"
sed 's/summary: .*/summary: SUMMARY/' "$rules" >"$T/alerts.yaml"
sed -i "s|^rule_files: .*|rule_files: [$T/alerts.yaml]|" "$T/test.yaml"
while read -r name labels; do
	printf '      - {eval_time: 170m, alertname: %s, exp_alerts: [{exp_labels: {node: n, instance: a, %s}, exp_annotations: {summary: SUMMARY}}]}\n' \
		"$name" "$labels"
done >>"$T/test.yaml" <<'END'
JeprofCtlDown severity: warning, job: jeprof-ctl
JeprofCtlOperationsFail severity: warning, op: dump
JeprofCtlRefusesMany severity: warning
JeprofCtlStopsLong severity: warning
JeprofCtlQueueIsLong severity: warning
JeprofCtlMayNotLook severity: warning, reason: not_allowed
JeprofCtlOmitsProcesses severity: info
MemoryNearLimitUnsampled severity: info, pid: "7", comm: c
END
is "$(grep -c alertname: "$T/test.yaml")" "$(grep -c alert: "$rules")" 'each alert is tested'
ok 'each fires' promtool test rules "$T/test.yaml"
sed "s/'0x180'}/'1x180'}/" "$T/test.yaml" >"$T/quiet.yaml"
like "$(promtool test rules "$T/quiet.yaml" 2>&1)" 'alertname: (JeprofCtlDown|MemoryNearLimitUnsampled)' 'control: not if all is well'
sed "s|rule_files: .*|rule_files: [$PWD/$rules]|" "$T/test.yaml" >"$T/words.yaml"
unlike "$(promtool test rules "$T/words.yaml" 2>&1)" '<error|<no value>|NaN' 'their texts have values'

# --- controls: names that do not exist are found ---
# misnamed FILE FROM TO SAID: change a name; the check must report it
misnamed()
{
	local files=("$rules" "$dashboard")

	[ "$1" = "$rules" ] && files[0]=$T/misnamed || files[1]=$T/misnamed
	sed "s/$2/$3/" "$1" >"$T/misnamed"
	like "$(tests/drivers/promql-names "$T/metrics" "${files[@]}")" "$4" "control: $3"
}
misnamed "$rules" jeprof_ctl_waiting jeprof_ctl_waitin 'no metric jeprof_ctl_waitin$'
misnamed "$rules" 'by (node, instance, op)' 'by (node, operation)' 'no label operation'
misnamed "$dashboard" "jeprof_processes{" "jepro_processes{" 'no metric jepro_processes'
misnamed "$dashboard" 'linkage' 'linkag' 'no label linkag$'

done_testing
