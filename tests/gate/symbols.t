#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Symbols of a stripped program, from wherever its packager left them: in the program, in debug
# files in its root and here, on a server; and never those of another build.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF
real_ctl=$CTL
twin=$VICTIMS/idle-je # with symbols
mkdir "$T/s"
strip -s -o "$T/s/bare" "$twin"
objcopy --only-keep-debug "$twin" "$T/s/idle.debug"
id=$(readelf -n "$twin" | awk '/Build ID:/ { print $3 }')
by_id=.build-id/${id:0:2}/${id:2}.debug

address()
{
	nm "$twin" | awk -v name="$1" '$3 == name { sub(/^0+/, "", $1); print $1 }'
}

# found NAME SOURCE: test the main job on the victim just started, with symbols from SOURCE
found()
{
	local name=$1 source=$2

	snapshot "$pid"
	ctl_ok "$name: check" "${more[@]}" -v check "$pid"
	like "$err" "je_mallctl at 0x$(address je_mallctl) of [^,]*, symbols from $source"$'\n' \
		"$name: mallctl is where the twin has it"
	like "$err" "je_malloc_stats_print at 0x$(address je_malloc_stats_print) " "$name: malloc_stats_print"
	like "$err" "opt_prof at 0x$(address je_opt_prof) " "$name: opt_prof"
	like "$out" "static, .*, symbols from $source" "$name: check names the source"
	ctl_ok "$name: activate" "${more[@]}" activate "$pid" --json
	is "$(json .changed)" true "$name: changed"
	ctl_ok "$name: dump" "${more[@]}" dump "$pid" --force -o "$T/symbols.heap"
	ok "$name: a profile" is_profile "$T/symbols.heap"
	ok "$name: with stacks" comes_to_have_stacks "$T/symbols.heap" "${more[@]}"
	ctl_ok "$name: deactivate" "${more[@]}" deactivate "$pid"
	assert_untouched "$pid" "$name: untouched"
	stop_target "$pid"
	more=()
}
more=()

# not_from NAME [ADDRESS]: no such symbols may be used, nor their address
not_from()
{
	local name=$1 address=${2:-none}

	snapshot "$pid"
	run_ctl "${more[@]}" -v check "$pid"
	unlike "$out$err" 'symbols from' "$name: not used"
	unlike "$err" "je_mallctl at 0x$address " "$name: no address from there"
	assert_untouched "$pid" "$name: untouched"
	stop_target "$pid"
	more=()
}

# --- in the program: a compressed table, as made by Fedora's find-debuginfo ---
nm -D --format=posix --defined-only "$twin" | awk '{ print $1 }' | sort >"$T/s/dynamic"
nm --format=posix --defined-only "$twin" | awk '$2 == "T" || $2 == "t" || $2 == "D" { print $1 }' |
	sort >"$T/s/functions"
comm -13 "$T/s/dynamic" "$T/s/functions" >"$T/s/keep"
objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols="$T/s/keep" \
	"$T/s/idle.debug" "$T/s/mini"
xz -k "$T/s/mini"
objcopy --add-section .gnu_debugdata="$T/s/mini.xz" "$T/s/bare" "$T/mini"
start_victim "$T/mini" 2
found debugdata '\.gnu_debugdata'

# Tables that are not xz streams, are truncated, or are too large when unpacked are ignored.
head -c 1000 "$T/s/mini.xz" >"$T/s/cut"
head -c 4000 /dev/urandom >"$T/s/noise"
head -c 200M /dev/zero | xz -1 >"$T/s/bomb"
for bad in cut noise bomb; do
	objcopy --add-section .gnu_debugdata="$T/s/$bad" "$T/s/bare" "$T/bad-$bad"
	start_victim "$T/bad-$bad" 2
	not_from "debugdata, $bad"
done

# --- by build id: only in the target's root, then only here ---
mkdir -p "$T/store/${by_id%/*}" "$T/empty"
cp "$T/s/idle.debug" "$T/store/$by_id"
made=''
[ -d /usr/lib/debug ] || { mkdir /usr/lib/debug && made=1; }
# with_debug FOLDER COMMAND...: run it with only the files in FOLDER as /usr/lib/debug
cat >"$T/with_debug" <<'SH'
#!/bin/bash
mount -t tmpfs none /usr/lib/debug && cp -r "$1/." /usr/lib/debug && shift && exec "$@"
SH
chmod 755 "$T/with_debug"
here()
{
	printf '#!/bin/sh\nexec unshare -m %s %s %s "$@"\n' "$T/with_debug" "$1" "$real_ctl" >"$T/ctl"
	chmod 755 "$T/ctl"
	CTL=$T/ctl
}

here "$T/empty"
wrap=(unshare -m "$T/with_debug" "$T/store")
start_victim "$T/s/bare" 2
found "build id, in the target's root" "/usr/lib/debug/$by_id"
wrap=()
here "$T/store"
start_victim "$T/s/bare" 2
found 'build id, here' "/usr/lib/debug/$by_id"

# A file of another build, named by this build id.
mkdir -p "$T/other/${by_id%/*}"
objcopy --only-keep-debug "$VICTIMS/busy-je" "$T/other/$by_id"
here "$T/other"
start_victim "$T/s/bare" 2
not_from 'build id of another build' "$(nm "$VICTIMS/busy-je" | awk '$3 == "je_mallctl" { sub(/^0+/, "", $1); print $1 }')"
CTL=$real_ctl

# --- by .gnu_debuglink ---
(cd "$T/s" && objcopy --add-gnu-debuglink=idle.debug bare linked &&
	objcopy --remove-section .note.gnu.build-id linked linked-no-id)
mkdir -p "$T/beside" "$T/below/.debug" "$T/third/$T/far" "$T/far"
cp "$T/s/linked" "$T/s/idle.debug" "$T/beside"
start_victim "$T/beside/linked" 2
found 'debuglink, beside' "$T/beside/idle.debug"
cp "$T/s/linked-no-id" "$T/below/linked"
cp "$T/s/idle.debug" "$T/below/.debug"
start_victim "$T/below/linked" 2
found 'debuglink, in .debug, without a build id' "$T/below/.debug/idle.debug"
cp "$T/s/linked" "$T/far"
cp "$T/s/idle.debug" "$T/third/$T/far"
here "$T/third"
start_victim "$T/far/linked" 2
found 'debuglink, below /usr/lib/debug' "/usr/lib/debug$T/far/idle.debug"
CTL=$real_ctl

# In a chroot, whose paths differ from ours.
jail=$T/jail
mkdir -p "$jail/opt/.debug" "$jail/proc"
for f in $(ldd "$twin" | grep -o '/[^ ]*'); do
	mkdir -p "$jail${f%/*}"
	cp "$f" "$jail$f"
done
mount -t proc proc "$jail/proc" && mounted+=("$jail/proc")
cp "$T/s/linked" "$jail/opt"
cp "$T/s/idle.debug" "$jail/opt/.debug"
cat >"$T/in_jail" <<'SH'
#!/bin/sh
exec chroot "$1" /opt/linked "$3" "$4"
SH
chmod 755 "$T/in_jail"
wrap=("$T/in_jail" "$jail")
start_victim "$T/s/linked" 2
found 'debuglink, in a chroot' /opt/.debug/idle.debug
# A link that leads out of that root is not followed.
mkdir "$jail/out"
cp "$T/s/linked" "$jail/opt/linked"
rm "$jail/opt/.debug/idle.debug"
ln -s "$T/s/idle.debug" "$jail/opt/.debug/idle.debug"
start_victim "$T/s/linked" 2
not_from 'debuglink, in a chroot, a link out of it'
wrap=()

# The right name with other contents; the right CRC with another build id.
mkdir "$T/crc" "$T/id"
cp "$T/s/linked" "$T/crc"
{
	cat "$T/s/idle.debug"
	echo
} >"$T/crc/idle.debug"
start_victim "$T/crc/linked" 2
not_from 'debuglink, wrong CRC'
objcopy --only-keep-debug "$VICTIMS/busy-je" "$T/id/idle.debug"
(cd "$T/id" && objcopy --add-gnu-debuglink=idle.debug ../s/bare linked)
start_victim "$T/id/linked" 2
not_from 'debuglink, another build'

# --- debuginfod, on request ---
mkdir "$T/served" "$T/cache"
cp "$T/s/idle.debug" "$T/served"
port=$(free_port)
debuginfod -F -p "$port" -d "$T/debuginfod.sqlite" "$T/served" >"$T/debuginfod.log" 2>&1 &
own $!
export no_proxy=127.0.0.1 DEBUGINFOD_CACHE_PATH=$T/cache
serves()
{
	python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' \
		"http://127.0.0.1:$port/buildid/$id/debuginfo"
}
within 60 serves || bail_out "debuginfod does not serve: $(tail -n 5 "$T/debuginfod.log")"
export DEBUGINFOD_URLS=http://127.0.0.1:$port
start_victim "$T/s/bare" 2
not_from 'debuginfod, not asked for'
ok 'debuginfod, not asked for: nothing was fetched' test -z "$(find "$T/cache" -type f -size +0)"
start_victim "$T/s/bare" 2
more=(--debuginfod)
found 'debuginfod' debuginfod
unset DEBUGINFOD_URLS
start_victim "$T/s/bare" 2
more=(--debuginfod)
not_from 'debuginfod without a server'

# --- a library with its own symbols needs no search ---
start_redis
snapshot "$pid"
ASAN_OPTIONS=detect_leaks=0 strace -f -o "$T/trace" -e trace=openat,openat2,open,memfd_create \
	"$CTL" --debuginfod "${patient[@]}" check "$pid" >"$T/out" 2>&1
like "$(<"$T/out")" 'libjemalloc' 'redis: jemalloc is found'
ok 'redis: its files were opened' grep -q map_files "$T/trace"
is "$(grep -E 'debug' "$T/trace")" '' 'redis: no debug file was looked for'
assert_untouched "$pid" 'redis: untouched'

[ -z "$made" ] || rmdir /usr/lib/debug
done_testing
