#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The container image: what it contains and what it does not, that it is reproducible, and that it
# works on processes of the host, of another container, and of the container that it joins, with the
# capabilities of packaging/kubernetes.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/image.sh
. tests/image.sh

version=$(packaging/version)
arch=$(uname -m)
archive=build/jeprof-ctl-$version-linux-$arch.oci.tar
rm -f "$archive"
ok 'the image is built' make -s image || bail_out 'there is no image'
cp "$archive" "$T/first.tar"
ok 'it is built again' unshare -n sh -c 'umask 077 && TZ=Asia/Kolkata packaging/build-image build "$1"' sh "$arch"
ok 'byte for byte the same, without a network' cmp "$archive" "$T/first.tar"

# --- its contents ---
mkdir "$T/oci" "$T/root"
tar -xf "$archive" -C "$T/oci"

# blob DIGEST: print its path
blob()
{
	echo "$T/oci/blobs/${1/://}"
}
manifest=$(blob "$(json '.manifests[0].digest' "$T/oci/index.json")")
is "$(json '.layers | length' "$manifest")" 1 'one layer'
is "$(cd "$T/oci/blobs/sha256" && sha256sum -- * | awk '$1 != $2')" '' 'its checksums are right'
config=$(blob "$(json .config.digest "$manifest")")
is "$(json '[.os, .architecture, .config.Entrypoint[], .config.User, .config.Env[]] | join(" ")' "$config")" \
	'linux amd64 /opt/jeprof-ctl/jeprof-ctl 0:0 PATH=/opt/jeprof-ctl' 'its entry point'
is "$(json '.config.Labels["org.opencontainers.image.version"]' "$config")" "$version" 'its version'
is "$(json .created "$config")" "$(date -u -d "@$(packaging/version --date)" +%FT%TZ)" 'dated as the archive is'
layer=$(blob "$(json '.layers[0].digest' "$manifest")")
is "$(tar -tvf "$layer" | awk '$2 != "0/0"')" '' "all of it is root's"
tar -xpf "$layer" -C "$T/root"
# loose: list files with the setuid or setgid bit, and what everybody may write to except sticky
# folders
loose()
{
	find "$T/root" '(' -perm /6000 -o -perm -2 -not -perm -1000 -not -type l ')' -printf '%P '
}
is "$(loose)" '' 'nothing is setuid or setgid, or writable by others'
is "$(find "$T/root" -not -type d -not -path "$T/root/opt/jeprof-ctl/*")" '' 'nothing but the program and what it brings'
tar -xf "build/jeprof-ctl-$version-linux-$arch.tar.gz" -C "$T"
ok 'which equals the contents of the archive' diff -r "$T/jeprof-ctl-$version-linux-$arch" "$T/root/opt/jeprof-ctl"
is "$(find "$T/root" -type f -perm /111 -printf '%P\n' | sort | paste -sd ' ')" \
	'opt/jeprof-ctl/jeprof-ctl opt/jeprof-ctl/lib/jeprof-ctl opt/jeprof-ctl/libexec/http opt/jeprof-ctl/libexec/jeprof-ctl/http opt/jeprof-ctl/libexec/program' \
	'no shell, and no other program'
chmod 4755 "$T/root/opt/jeprof-ctl/jeprof-ctl" && chmod 777 "$T/root/etc"
is "$(loose)" 'etc opt/jeprof-ctl/jeprof-ctl ' 'control: such modes are noticed'
chmod 755 "$T/root/opt/jeprof-ctl/jeprof-ctl" "$T/root/etc"
ok 'licences' test -s "$T/root/opt/jeprof-ctl/LICENSE" -a -s "$T/root/opt/jeprof-ctl/LICENSES-OF-LIBRARIES"

# --- its use ---
MALLOC_CONF=$PROF start_redis
load_redis
host=$pid host_sock=$sock
snapshot "$host"
start_redis_container shop
load_redis
other=$pid other_sock=$sock
snapshot "$other"
# The DaemonSet's privileges, with folders for the output; and those that kubectl debug adds.
kubectl kustomize packaging/kubernetes | python3 -c 'import json, sys, yaml
pod = next(o for o in yaml.safe_load_all(sys.stdin) if o["kind"] == "DaemonSet")["spec"]["template"]["spec"]
security = pod["containers"][0]["securityContext"]
mounts = [{"name": name, "mountPath": path} for name, path in (("run", "/run"), ("tmp", "/var/tmp"), ("out", "/tmp"))]
json.dump({"hostPID": True, "volumes": [{"name": m["name"], "emptyDir": {}} for m in mounts],
           "containers": [{"securityContext": security, "volumeMounts": mounts}]}, sys.stdout)' >"$T/pod"
python3 -c 'import json, sys, yaml
json.dump({"containers": [yaml.safe_load(sys.stdin)]}, sys.stdout)' <packaging/kubernetes/debug.yaml >"$T/debug"
mkdir -m 777 "$T"/{run,tmp,out}
volumes=(-v "run=$T/run" -v "tmp=$T/tmp" -v "out=$T/out")

# of_image NAME ARGUMENTS...: run it, which must succeed unless NAME is -. `how` has more arguments
# for oci-config, `pod` the pod.
how=() pod=$T/pod
of_image()
{
	local name=$1

	shift
	new_container it "$T/root"
	run_container it "$pod" "${how[@]}" --args "$@" >"$T/out.text" 2>"$T/err"
	status=$?
	[ "$name" = - ] || is "$status" 0 "$name" || diag "$(<"$T/err")"
}

# job NAME PID: check, activate, dump and deactivate
job()
{
	of_image "$1: check" check "$2"
	of_image "$1: activate" activate "$2"
	redis DEBUG POPULATE 5000 "$1" 300 >/dev/null
	of_image "$1: dump" dump "$2" -o -
	ok "$1: a profile" is_profile "$T/out.text"
	of_image "$1: deactivate" deactivate "$2"
}
how=("${volumes[@]}")
of_image 'help, without a word' help
like "$(<"$T/out.text")" 'jeprof-ctl' 'it shows the usage'
of_image 'list' list --json
is "$(jq -c "[.[] | select(.pid == $host or .pid == $other) | .comm]" "$T/out.text")" '["redis-server","redis-server"]' 'it sees both'
sock=$host_sock
job 'the host' "$host"
of_image 'a record, into a volume' record "$host" -d 1s -o /tmp/
is "$(find "$T/out" -name 'redis-server.*.heap' | wc -l)" 2 'both of its profiles are there'
sock=$other_sock
job 'another container' "$other"
pod=$T/debug how=(--join "$other")
job 'beside it, as kubectl debug has it' 1
pod=$T/pod

# --- controls: each of these is needed ---
# refused CAPABILITY ID: activate without it fails
refused()
{
	how=("${volumes[@]}" --without "$1" -e JEPROF_CTL_ERROR_IDS=1)
	of_image - activate "$other"
	like "$status $(<"$T/err")" "^4 .*[[ ;]$2[]; ]" "control: without $1"
}
refused SYS_PTRACE no_cap_sys_ptrace
refused DAC_READ_SEARCH no_cap_dac_read_search
refused SYS_ADMIN filters_forbidden
jq '.hostPID = false' "$T/pod" >"$T/apart"
pod=$T/apart how=("${volumes[@]}")
of_image - list --json
is "$status $(jq -c length "$T/out.text")" '0 0' 'control: without processes of the host it sees none'
assert_untouched "$host" 'the process of the host is untouched'
assert_untouched "$other" 'the process of the other container is untouched'

done_testing
