#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Profiles for scrapers follow the rules of Parca, Alloy and Pyroscope, as do those written on the
# command line: tests/drivers/pprof-rules parses the bytes. The controls break one rule each.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh

rules=tests/drivers/pprof-rules

# scrapes PATH NAME [--difference]: leave the profile in $T/body, and its properties for json()
scrapes()
{
	local path=$1 name=$2

	shift 2
	is "$(curl -sS --unix-socket "$T/all.sock" -o "$T/body" -w '%{http_code} %{content_type}' "http://localhost$path")" \
		'200 application/octet-stream' "$name: it is served" || diag "$(<"$T/body")"
	keeps_rules "$T/body" "$name" "$@"
}

keeps_rules()
{
	local file=$1 name=$2

	shift 2
	"$rules" check "$file" "$@" >"$T/out"
	is "$?" 0 "$name: it follows the rules" || diag "$(<"$T/out")"
}

MALLOC_CONF=prof:true,lg_prof_sample:12 start_victim leaky
leaky=$pid
MALLOC_CONF=prof:true,lg_prof_sample:12,prof_accum:true start_victim busy 2
busy=$pid
snapshot "$leaky"
snapshot "$busy"
start_serve all

# --- over HTTP ---
for pid in "$leaky" "$busy"; do
	for kind in heap allocs; do
		scrapes "/debug/pprof/$kind?pid=$pid" "$kind of ?pid="
		scrapes "/pid/$pid/debug/pprof/$kind" "$kind of /pid/"
		scrapes "/debug/pprof/$kind?pid=$pid&seconds=1" "$kind of a second" --difference
	done
done
is "$(json '.types | join(" ")')" 'inuse_objects inuse_space alloc_objects alloc_space' 'with prof_accum: four types'
cp "$T/body" "$T/second"
scrapes "/debug/pprof/allocs?pid=$leaky" 'allocs'
is "$(json '.types | join(" ")')" 'inuse_objects inuse_space' 'without prof_accum: two types'
is "$(json '.default, .period')" $'inuse_space\n4096' 'the default type, and the period'
cp "$T/body" "$T/scraped"
code=$(curl -sS --unix-socket "$T/all.sock" -o "$T/posted" -w '%{http_code}' -X POST "http://localhost/api/v1/processes/$leaky/dump?format=pprof")
is "$code" 200 'POST'
keeps_rules "$T/posted" 'POST'
end_serve all
assert_untouched "$leaky"
assert_untouched "$busy"

# --- on the command line ---
for pid in "$leaky" "$busy"; do
	ctl_ok 'dump' dump "$pid" -o "$T/$pid.heap"
	ctl_ok 'report -f pprof' report "$T/$pid.heap" -f pprof -o "$T/$pid.pb.gz"
	keeps_rules "$T/$pid.pb.gz" 'report -f pprof'
	ctl_ok 'convert -f pprof' convert -f pprof "$T/$pid.heap" "$T/$pid.2.pb.gz"
	keeps_rules "$T/$pid.2.pb.gz" 'convert -f pprof'
	ctl_ok 'dump -f pprof' dump "$pid" -f pprof -o "$T/$pid.3.pb.gz"
	keeps_rules "$T/$pid.3.pb.gz" 'dump -f pprof'
done
ctl_ok 'of what pprof wrote' convert -f pprof "$T/scraped" "$T/again.pb.gz"
keeps_rules "$T/again.pb.gz" 'of what pprof wrote'
ctl_ok 'of few stacks' report "$T/$leaky.heap" -f pprof --max-stacks 5 -o "$T/few.pb.gz"
keeps_rules "$T/few.pb.gz" 'of few stacks'
ok 'of few stacks: few samples' test "$(json .samples)" -le 6

# --- controls: each broken rule is detected ---
stop_target "$busy" # it uses a processor
ok 'control: unchanged, it follows the rules' "$rules" check "$T/scraped"
"$rules" controls "$T/scraped" >"$T/controls" || bail_out 'the controls'
while IFS=$'\t' read -r found name said; do
	is "$found" found "control: $name" || diag "$said"
done <"$T/controls"
ok 'control: a difference is not a profile' eval "! $rules check $T/second"
head -c -20 "$T/scraped" >"$T/broken"
ok 'control: a truncated profile' eval "! $rules check $T/broken"

done_testing
