#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# list -f prom and -f openmetrics: Prometheus and the format's own parser accept the output,
# whatever the names of processes and groups, and the values are correct.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/groups.sh
. tests/groups.sh

# takes NAME FORMAT TEXT: the reader must accept it; refuses NAME FORMAT TEXT: it must not
declare -A reader=([prom]='promtool check metrics' [openmetrics]=tests/drivers/openmetrics-check)
takes()
{
	# shellcheck disable=SC2086 # words
	ok "$1: is accepted" ${reader[$2]} <<<"$3"
}

refuses()
{
	# shellcheck disable=SC2086 # words
	ok "control: $1: is rejected" eval '! '"${reader[$2]}" <<<"$3"
}

# value FAMILY PID: print its number in the last output
value()
{
	sed -n "s/^$1{pid=\"$2\",.*} \([0-9.]*\)\$/\1/p" "$T/out"
}

# label NAME PID: print it as in jeprof_process_info, escaped
label()
{
	sed -nE "s/^jeprof_process_info\{pid=\"$2\",(.*,)?$1=\"(([^\"\\]|\\\\.)*)\".*/\2/p" "$T/out"
}

MALLOC_CONF=$PROF start_redis
redis=$pid
secret=s$RANDOM$RANDOM
OTEL_SERVICE_NAME='the "shop" \ here' OTEL_RESOURCE_ATTRIBUTES=key=$secret TOKEN=$secret start_victim idle
shop=$pid
# Names that end a label, a line or a word, and some that are not text.
evil=$'q"\\\n\xff} 1'
cp "$VICTIMS/idle" "$T/$evil"
MALLOC_CONF=prof:false start_victim "$T/$evil"
hostile=$pid
declare -A named
for name in '' $'two\nlines' $'no\xfftext' "$(printf 'x%.0s' {1..128})" "$(printf 'x%.0s' {1..129})"; do
	OTEL_SERVICE_NAME=$name start_victim idle
	named[$pid]=$name
done
for p in "$redis" "$hostile" "$shop" "${!named[@]}"; do snapshot "$p"; done

# --- the output is valid ---
for format in prom openmetrics; do
	ctl_ok "list -f $format" list -f $format
	takes "$format" $format "$out"
	is "$(awk '/^jeprof_process_info/' "$T/out" | wc -l)" "$(awk '$1 == "jeprof_processes" { print $2 }' "$T/out")" \
		"$format: every process is listed"
	is "$(label service "$shop")" 'the \"shop\" \\ here' "$format: the service name"
	is "$(label comm "$hostile")" 'q\"\\\\x0a\\xff} 1' "$format: a hostile name is escaped"
	is "$(label opt_prof "$redis") $(label opt_prof "$hostile") $(label linkage "$redis")" 'true false shared' \
		"$format: other labels"
	for p in "${!named[@]}"; do
		wanted=idle
		[ ${#named[$p]} -eq 128 ] && wanted=${named[$p]}
		is "$(label service "$p")" "$wanted" "$format: $(printf %q "${named[$p]}") as a name"
	done
	like "$(value jeprof_process_rss_bytes "$redis")" '^[1-9][0-9]{6}' "$format: resident memory"
done
refuses 'without the EOF line' openmetrics "$(sed '$d' "$T/out")"
refuses 'a family twice' openmetrics "$(sed '/^# EOF/d' "$T/out"; cat "$T/out")"
refuses 'an unterminated label' openmetrics "$(sed 's/\(service="[^"]*\)",/\1,/' "$T/out")"
ctl_ok 'list -f prom, again' list -f prom
prom=$out
refuses 'a family twice' prom "$prom"$'\n'"$prom"
refuses 'a split family' prom "$(sed 1,2p "$T/out")"
refuses 'an unterminated label' prom "$(sed 's/\(service="[^"]*\)",/\1,/' "$T/out")"
refuses 'an unescaped quote' prom "$(sed 's/\\"/"/' "$T/out")"
is "$(grep -c '^jeprof_ctl_build_info{version="[0-9.]*"} 1$' "$T/out")" 1 'its own version'

# --- the values are correct ---
ctl_ok 'list --json' list --json
cp "$T/out" "$T/list"
is "$(grep -c "$secret" "$T/list")$(grep -c "$secret" <<<"$prom")" 00 'no other environment variable is shown'
ok 'control: the environment has the secret' grep -q "$secret" "/proc/$shop/environ"
is "$(jq -r --argjson p "$shop" '.[] | select(.pid == $p) | .service_name' "$T/list")" 'the "shop" \ here' 'JSON: the name of the service'
is "$(jq -c --argjson p "$hostile" '.[] | select(.pid == $p) | [.service_name, .container_id, .pod_uid, .qos_class]' "$T/list")" \
	'["q\"\\\\x0a\\xff} 1",null,null,null]' 'JSON: an escaped name, and no container'
ctl_ok 'list -f json' list -f json
is "$(jq -cS 'map(del(.rss_bytes))' "$T/out")" "$(jq -cS 'map(del(.rss_bytes))' "$T/list")" 'list -f json is list --json'
ctl_ok 'list -f table' list -f table
like "$out" '^ *PID +COMM' 'list -f table is list'
run_ctl list --json -f prom
is "$status $(json .error.id)" '2 exclusive' 'list --json -f prom is refused'
for p in "$redis" "$hostile" "$shop" "${!named[@]}"; do assert_untouched "$p"; done
ctl_ok 'activate' activate "$redis"
snapshot "$redis"
ctl_ok 'list -f prom while active' list -f prom
like "$(value jeprof_prof_active "$redis")" '^1?$' 'prof.active: 1 or unknown'
is "$(value jeprof_prof_active "$redis")" \
	"$("$CTL" list --json 2>/dev/null | jq -r --argjson p "$redis" '.[] | select(.pid == $p) | if .prof.active == null then "" else 1 end')" \
	'prof.active: the same as in JSON'
is "$(value jeprof_process_cgroup_limit_bytes "$redis")" "$("$CTL" explain "$redis" --json | jq '.limit_bytes // empty')" \
	'a limit: the same as in explain'

# --- control groups: their limits and names ---
id=$(printf '0123456789abcdef%.0s' 1 2 3 4)
pod=0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0
if make_group 1024; then
	inner=$group/kubepods/besteffort/pod$pod/$id/$'e"v\\x2d\xff}.service'
	at_end=("find '$group' -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null" "${at_end[@]}")
	mkdir -p "$inner"
	echo "$hostile" >"$inner/cgroup.procs"
	for format in prom openmetrics; do
		ctl_ok "a group: list -f $format" list -f $format
		takes "a group: $format" $format "$out"
		is "$(value jeprof_process_cgroup_limit_bytes "$hostile")" $((1 << 30)) "a group: $format: its limit"
		like "$(value jeprof_process_cgroup_used_bytes "$hostile")" '^[0-9]+$' "a group: $format: memory in use"
		is "$(label container_id "$hostile") $(label pod_uid "$hostile")" "$id $pod" "a group: $format: container and pod"
		is "$(label unit "$hostile")" 'e\"v\\x2d\\xff}.service' "a group: $format: a hostile name"
	done
	ctl_ok 'a group: list --json' list --json
	is "$(jq -c --argjson p "$hostile" '.[] | select(.pid == $p) | [.container, .container_id, .pod_uid, .qos_class]' "$T/out")" \
		"[\"${id:0:12}\",\"$id\",\"$pod\",\"BestEffort\"]" 'a group: JSON'
else
	skip 'cgroups cannot limit memory here' 'a group'
fi

# --- followed by jemalloc's own numbers, as served ---
ctl_ok 'stats -f prom' stats "$redis" -f prom
both=$prom$'\n'$out
takes 'with statistics' prom "$both"
is "$(grep -c '^# TYPE' <<<"$both")" "$(grep '^# TYPE' <<<"$both" | sort -u | wc -l)" 'with statistics: no family twice'
for p in "$redis" "$hostile"; do assert_untouched "$p"; done

done_testing
