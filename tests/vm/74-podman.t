#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The image of `make image`, run by Podman as README.md says, with exactly the capabilities that the threat model
# names, on a redis-server in another container of Podman: it works, and without any one of them something is missing.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/redis-root.sh
. tests/redis-root.sh

if [ ! -e build/image.tar ] || ! command -v podman >/dev/null; then
	skip 'there is no image, or no Podman to run it' 'Podman'
	feature 'image, by Podman' 'not tried'
	done_testing
fi
at_end+=('podman rm --all --force --time 0 >/dev/null 2>&1')
mapfile -t caps < <(sed -n '/^## Boundaries/q; s/^| \(`CAP_[^|]*\) | .*/\1/p' doc/threat-model.md | grep -o 'CAP_[A-Z_]*' | sed 's/^CAP_//')
like "${#caps[@]}" '^([5-9]|1[0-9])$' 'the threat model names capabilities'
is "$(sed -n 's/.*--cap-add=\([A-Z_,]*\).*/\1/p' README.md | tr , '\n' | sort)" "$(printf '%s\n' "${caps[@]}" | sort)" \
	'README.md names the same ones'
like "$(podman load -q -i build/image.tar 2>&1)" 'jeprof-ctl:[0-9.]+' 'the image is loaded' || bail_out 'it cannot be loaded'
image=jeprof-ctl:$("$CTL" --version | sed 's/.* //')
fact podman "$(podman --version | sed 's/.* //')"

# --- a process of the host, and one of another container ---
MALLOC_CONF=$PROF start_victim idle
host=$pid
snapshot "$host"
root=$T/root
make_redis_root "$root"
cp "$VICTIMS/libpreloaded.so" "$root/"
podman run -d --name shop --network=none --user 999:999 -e MALLOC_CONF=prof:true,lg_prof_sample:12,narenas:2 -e LD_PRELOAD=/libpreloaded.so \
	--rootfs "$root" /usr/bin/redis-server --port 0 --unixsocket /srv/sock --save '' --appendonly no --dir /tmp >"$T/shop" 2>&1 ||
	bail_out "Podman does not start it: $(<"$T/shop")"
sock=$root/srv/sock
within 60 redis_answers || bail_out "no redis-server: $(podman logs shop 2>&1 | tail -n 20)"
pid=$(podman inspect -f '{{.State.Pid}}' shop)
rm "$root/libpreloaded.so" # no path leads to it any more
like "$(sed -n 's/^Seccomp:\t//p' "/proc/$pid/status") $(readlink "/proc/$pid/ns/pid")" '^2 ' 'control: it has a filter'
unlike "$(readlink "/proc/$pid/ns/pid" "/proc/$pid/ns/mnt" | paste -sd ' ')" "$(readlink /proc/self/ns/pid)|$(readlink /proc/self/ns/mnt)" \
	'control: it has its own namespaces'
ctl_ok 'deactivate' deactivate "$pid"
fill_redis
snapshot "$pid"

# --- commands ---
read -ra documented < <(sed -n '/# podman run/,/VERSION list/p' README.md | tr -d '\\\n' | sed 's/.* run --rm//; s/ jeprof-ctl:VERSION.*//')
# as_documented [WITHOUT]: set `how` to the options in README.md, without one of the capabilities
as_documented()
{
	how=("${documented[@]}")
	if [ -n "${1:-}" ]; then
		how=("${how[@]/$1,/}")
		how=("${how[@]/%,$1/}")
	fi
}
# of_image NAME ARGUMENTS...: run a command in a container, which must succeed
of_image()
{
	podman run --rm "${how[@]}" "$image" "${@:2}" >"$T/out.text" 2>"$T/err"
	is "$?" 0 "$1" || diag "$(<"$T/err")"
}
as_documented
of_image 'list' list --json
like "$(json ".[] | select(.pid == $pid) | \"\(.opt.prof) \(.container)\"" "$T/out.text")" '^true [0-9a-f]{12}' 'list: the process and its container'
of_image 'check' check "$pid"
of_image 'activate' activate "$pid" "${patient[@]}"
fill_redis 1000
of_image 'dump' dump "$pid" -o - "${patient[@]}"
ok 'a profile' is_profile "$T/out.text"
of_image 'deactivate' deactivate "$pid" "${patient[@]}"
mkdir "$T/kept"
how+=(-v "$T/kept:/kept")
of_image 'record, into a volume' record "$pid" -d 1s -o /kept/ "${patient[@]}"
is "$(find "$T/kept" -name 'redis-server.*.heap' | wc -l)" 2 'its profiles are there'
feature 'image, by Podman'

# --- serve ---
mkdir -m 711 "$T/run"
# http METHOD PATH: print the status of the response, or the name of the error; leave the body in $T/body
http()
{
	tests/drivers/ask-http "$T/run/http.sock" "$@" >"$T/answer"
	head -n 1 "$T/answer"
	tail -n +2 "$T/answer" >"$T/body"
}
is_up()
{
	[ "$(http GET /healthz)" = 200 ]
}
# start_serve: in a container, by `how`; set `front`
start_serve()
{
	podman run -d --name it "${how[@]}" -v "$T/run:/run/jeprof-ctl" "$image" serve "${patient[@]}" >"$T/it" 2>&1 ||
		bail_out "Podman does not start it: $(<"$T/it")"
	within 60 is_up || bail_out "it does not serve: $(podman logs it 2>&1 | tail -n 20)"
	front=$(pgrep -P "$(podman inspect -f '{{.State.Pid}}' it)" -f libexec/http)
}
end_serve()
{
	ok "$1: it ends" podman stop -t 100 it
	is "$(podman inspect -f '{{.State.ExitCode}}' it)" 0 "$1: without a failure" || diag "$(podman logs it 2>&1 | tail -n 20)"
	podman rm it >/dev/null
}
# switch WHAT [PID]: activate or deactivate; print prof.active after that, or the error
switch()
{
	http POST "/api/v1/processes/${2:-$pid}/$1" >/dev/null
	json '.error.id // .after' "$T/body"
}
# names WORD: print whether its profile names that function
names()
{
	http POST "/api/v1/processes/$pid/dump?format=folded" >/dev/null
	grep -q "$1" "$T/body" && echo yes || echo no
}
# of_front FIELD: print a field of the front's status
of_front()
{
	sed -n "s/^$1:[[:space:]]*\([^[:space:]]*\).*/\1/p" "/proc/$front/status"
}
as_documented
start_serve
is "$(switch activate)" true 'serve: activate'
is "$(names hold_in_library)" yes 'serve: a profile, with names of a file that was deleted' || diag "$(head -n 3 "$T/body")"
is "$(switch deactivate)" false 'serve: deactivate'
is "$(switch activate "$host") $(switch deactivate "$host")" 'true false' 'serve: a process of the host'
is "$(of_front CapBnd) $(of_front NoNewPrivs)" '0000000000000000 1' 'serve: the HTTP process can never gain a capability'
like "$(of_front Uid)" '^[1-9]' 'serve: it is not root'
like "$(readlink "/proc/$front/root")" ' \(deleted\)$' 'serve: its root directory is deleted'
end_serve serve
feature 'image, serve by Podman'

# --- controls: each capability is needed ---
# lacks CAPABILITY NAME: check what does not work without it
lacks()
{
	case $1 in
	SYS_PTRACE) is "$(switch activate)" no_cap_sys_ptrace "$2" ;;
	DAC_READ_SEARCH) is "$(switch activate)" no_cap_dac_read_search "$2" ;;
	SYS_ADMIN) is "$(switch activate)" filters_forbidden "$2" ;;
	CHECKPOINT_RESTORE) is "$(switch activate) $(names hold_in_library) $(switch deactivate)" 'true no false' "$2" ;;
	KILL | SETUID | SETGID) is "$(of_front Uid)" 0 "$2" ;;
	SETPCAP) unlike "$(of_front CapBnd)" '^0+$' "$2" ;;
	SYS_CHROOT) is "$(readlink "/proc/$front/root")" / "$2" ;;
	*) ok "$2: there is a test" false ;;
	esac
}
for cap in "${caps[@]}"; do
	as_documented "$cap"
	start_serve
	lacks "$cap" "control: without $cap"
	end_serve "without $cap"
done
as_documented
how=("${how[@]/seccomp=unconfined/label=disable}")
start_serve
is "$(switch activate)" filters_forbidden "control: with Podman's filter"
end_serve "with Podman's filter"
if grep -qs Y /sys/module/apparmor/parameters/enabled; then
	as_documented
	how=("${how[@]/apparmor=unconfined/label=disable}")
	start_serve
	unlike "$(switch activate "$host")" '^(true|false|null)$' "control: with Podman's profile for AppArmor, a process of the host"
	end_serve "with Podman's profile for AppArmor"
fi
assert_untouched "$pid" 'the process of the other container is untouched'
assert_untouched "$host" 'the process of the host is untouched'
feature 'image, each capability is needed'

done_testing
