#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: profiles of a real redis, as scrapers request them, are accepted by google/pprof, the
# library that they use to read them, and keep the rules of each scraper (tests/gate/scraped.t has
# more of those).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh
export HOME=$T

rules=tests/drivers/pprof-rules
GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$T/go-cache go build -o "$T/parsed" tests/drivers/parsed.go ||
	bail_out 'there is no google/pprof'

# is_taken FILE NAME [--difference]: google/pprof accepts it; leave its output in `said`
is_taken()
{
	local file=$1 name=$2

	shift 2
	said=$("$T/parsed" "$file")
	like "$? $said" '^0 .*inuse_objects/count inuse_space/bytes .* inuse_space 4096$' "$name: google/pprof accepts it"
	ok "$name: it follows the rules" "$rules" check "$file" "$@"
	"$rules" check "$file" "$@" >"$T/out"
	is "$(awk '{ print $(NF - 3), $(NF - 2) }' <<<"$said")" "$(json '"\(.samples) \(.locations)"')" "$name: it is complete"
}

# scrapes PATH NAME [--difference]: request a profile, and check it
scrapes()
{
	local path=$1 name=$2

	shift 2
	is "$(curl -sS -u "me:$token" -o "$T/body" -w '%{http_code} %{content_type}' "http://127.0.0.1:$port$path")" \
		'200 application/octet-stream' "$name: it is served" || diag "$(<"$T/body")"
	is_taken "$T/body" "$name" "$@"
}

# load: some 200 KB of new keys a second, of which every 4 KB are sampled
load()
{
	while :; do
		load_redis 60 300
		sleep 0.1
	done
}

MALLOC_CONF=${PROF/active:false/active:true} start_redis
redis=$pid
load_redis
run_ctl serve --token-file "$T/tokens" --new-token profile:scraper
token=$out
port=$(free_port)
start_serve all --listen "127.0.0.1:$port" --token-file "$T/tokens"
snapshot "$redis"
load &
own $!
loader=$!
for path in "/debug/pprof/heap?pid=$redis" "/debug/pprof/allocs?pid=$redis" "/pid/$redis/debug/pprof/heap" "/pid/$redis/debug/pprof/allocs"; do
	scrapes "$path" "${path/$redis/N}"
	like "$(json .locations)" '^[1-9][0-9]+$' 'it has locations'
	scrapes "$path$([[ $path == *\?* ]] && echo '&' || echo '?')seconds=2" "${path/$redis/N}, of 2 s" --difference
done
end_child "$loader"
end_serve all
assert_untouched "$redis"

ctl_ok 'dump' dump "$redis" -o "$T/it.heap"
ctl_ok 'report -f pprof' report "$T/it.heap" -f pprof -o "$T/report.pb.gz"
is_taken "$T/report.pb.gz" 'report -f pprof'
ctl_ok 'convert -f pprof' convert -f pprof "$T/it.heap" "$T/convert.pb.gz"
is_taken "$T/convert.pb.gz" 'convert -f pprof'

# --- controls ---
for name in 'a location twice' 'a sample at no location' 'a sample with a value too few' 'a location in no function' \
	'a name beyond the texts' 'no types'; do
	"$rules" break "$name" "$T/report.pb.gz" "$T/broken"
	ok "control: $name: google/pprof rejects it" eval "! $T/parsed $T/broken"
done
# google/pprof is not enough: it accepts what Parca rejects.
for kind in mappings locations functions; do
	"$rules" break "a gap in $kind" "$T/report.pb.gz" "$T/broken"
	ok "control: a gap in $kind: google/pprof accepts it" "$T/parsed" "$T/broken"
	ok "control: a gap in $kind: the rules reject it" eval "! $rules check $T/broken"
done

done_testing
