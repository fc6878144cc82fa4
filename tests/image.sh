# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2004 # pid is set by lib.sh; redis_of has names
# Containers of pods, run only by an OCI runtime (crun), without an engine or a cluster. Sourced
# after tests/lib.sh.
# shellcheck source=tests/redis-root.sh
. tests/redis-root.sh

CONTAINERS=$T/containers
mkdir -p "$CONTAINERS"
# crun needs no control group here, and does not start if it finds two hierarchies: hide both.
# shellcheck disable=SC2016 # the inner shell's arguments
oci=(unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh
	crun --root "$T/crun" --cgroup-manager=disabled)

end_containers()
{
	local name

	for name in "$CONTAINERS"/*; do
		"${oci[@]}" delete --force "${name##*/}" 2>/dev/null
	done
}
at_end+=(end_containers)

# new_container NAME ROOTFS: a bundle whose root is a link to ROOTFS
new_container()
{
	mkdir -p "$CONTAINERS/$1" && ln -sfn "$2" "$CONTAINERS/$1/rootfs"
}

# run_container NAME POD [ARGUMENTS OF oci-config...]: run it in the foreground; POD is a file
run_container()
{
	configure "$@" && "${oci[@]}" run --bundle "$CONTAINERS/$1" "$1" </dev/null
}

# start_container NAME POD [ARGUMENTS OF oci-config...]: run it in the background, with output to
# $T/NAME.log. Sets `container`, the pid of the runtime; the pid of the container's first process is
# in $CONTAINERS/NAME/pid.
start_container()
{
	rm -f "$CONTAINERS/$1/pid"
	configure "$@" || bail_out "no container $1"
	"${oci[@]}" run --bundle "$CONTAINERS/$1" --pid-file "$CONTAINERS/$1/pid" "$1" >"$T/$1.log" 2>&1 </dev/null &
	container=$!
	own "$container"
}

configure()
{
	tests/drivers/oci-config "$2" "${@:3}" >"$CONTAINERS/$1/config.json"
}

# start_redis_container NAME [LIBRARY]: as a separate user, under a seccomp filter, with LIBRARY
# loaded. Sets `pid`, and `sock` for redis().
start_redis_container()
{
	local name=$1 root=$T/$1.root

	make_redis_root "$root"
	[ -z "${2:-}" ] || cp "$2" "$root/"
	new_container "$name" "$root"
	jq -n --arg conf "$PROF" --arg library "${2:+/${2##*/}}" '{containers: [{name: "redis", command: ["/usr/bin/redis-server"],
		args: ["--port", "0", "--unixsocket", "/srv/sock", "--save", "", "--appendonly", "no", "--dir", "/tmp",
			"--enable-debug-command", "yes"],
		env: [{name: "MALLOC_CONF", value: $conf}, {name: "LD_PRELOAD", value: $library}],
		securityContext: {runAsUser: 999, runAsGroup: 999, capabilities: {drop: ["ALL"]},
			seccompProfile: {type: "RuntimeDefault"}}}]}' >"$T/$name.pod"
	start_container "$name" "$T/$name.pod"
	sock=$root/srv/sock
	within 60 redis PING || bail_out "no redis-server in a container: $(<"$T/$name.log")"
	pid=$(<"$CONTAINERS/$name/pid")
	redis_of[$pid]=$sock
}
