#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: a real Prometheus reads the metrics of a real redis, and finds it by http_sd while it can
# be profiled.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh
export NO_PROXY='*'

# query EXPRESSION: print the values that it finds, in a line
query()
{
	curl -sS -G "http://127.0.0.1:$prometheus/api/v1/query" --data-urlencode "query=$1" |
		jq -r '[.data.result[].value[1]] | join(" ")'
}

# comes EXPRESSION VALUES NAME: wait until Prometheus has these values
comes()
{
	within 120 eval "[ \"\$(query '$1')\" = '$2' ]"
	is "$(query "$1")" "$2" "$3"
}

# found: print the targets that http_sd found
found()
{
	curl -sS "http://127.0.0.1:$prometheus/api/v1/targets" |
		jq -r '[.data.activeTargets[] | select(.scrapePool == "found") | [.labels.pid, .labels.service_name, .health] | join(" ")] | join(",")'
}

MALLOC_CONF=$PROF start_redis
redis=$pid
load_redis
run_ctl serve --token-file "$T/tokens" --new-token read:prometheus
read -r port prometheus <<<"$(free_port 2)"
printf '%s' "$out" >"$T/token"
start_serve all --listen "127.0.0.1:$port" --token-file "$T/tokens"
snapshot "$redis"
cat >"$T/prometheus.yml" <<END
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: here
    authorization: {credentials_file: $T/token}
    static_configs: [{targets: ["127.0.0.1:$port"]}]
  - job_name: stranger
    static_configs: [{targets: ["127.0.0.1:$port"]}]
  - job_name: found
    authorization: {credentials_file: $T/token}
    http_sd_configs: [{url: "http://127.0.0.1:$port/sd", refresh_interval: 1s, authorization: {type: Bearer, credentials_file: $T/token}}]
END
ok 'promtool finds no fault in its configuration' promtool check config "$T/prometheus.yml"
prometheus --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/tsdb" --web.listen-address="127.0.0.1:$prometheus" >"$T/prometheus.log" 2>&1 &
own $!
within 120 curl -fsS "http://127.0.0.1:$prometheus/-/ready"

comes 'up{job="here"}' 1 'it reads the metrics'
comes 'up{job="stranger"}' 0 'control: without a token it reads nothing'
comes "jeprof_prof_active{job=\"here\",pid=\"$redis\"}" 0 'redis is not sampled'
is "$(query "jeprof_process_info{job=\"here\",pid=\"$redis\",comm=\"redis-server\",opt_prof=\"true\"}")" 1 'its description'
ok 'its memory' test "$(query "jeprof_process_rss_bytes{job=\"here\",pid=\"$redis\"}")" -gt 1000000
is "$(found)" '' 'nothing to scrape while it is not sampled'
assert_untouched "$redis" 'metrics leave it untouched'
ctl_ok 'activate' activate "$redis"
comes "jeprof_prof_active{job=\"here\",pid=\"$redis\"}" 1 'sampled: Prometheus reads that'
within 120 eval "[ \"\$(found)\" = '$redis redis-server up' ]"
is "$(found)" "$redis redis-server up" 'and finds it by http_sd'
ctl_ok 'deactivate' deactivate "$redis"
within 120 eval '[ -z "$(found)" ]'
is "$(found)" '' 'not sampled: it is gone again'
is "$(said all 'stops=[1-9]')" 0 'no request stopped a thread'
end_serve all
assert_untouched "$redis"

done_testing
