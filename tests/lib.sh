# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Shared by the end-to-end tests: TAP, target processes, running jeprof-ctl, and checking that a
# target is unchanged. Sourced by the tests of each tier.
#
# Everything started here is killed by its pid when the test exits, for whatever reason.

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
ROOT=$PWD
B=${B:-build}
CTL=${JEPROF_CTL:-$B/jeprof-ctl}
[[ $CTL == /* ]] || CTL=$ROOT/$CTL
VICTIMS=$ROOT/build/tests/target
export PROF=prof:true,prof_active:false,lg_prof_sample:12
# ASan also checks for leaks; a killed program is not a finding.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0:exitcode=99}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export LC_ALL=C TZ=UTC PYTHONDONTWRITEBYTECODE=1
# Factor for all time limits, for slow machines.
SLOW=${SLOW:-1}
export PHOTO_PATIENCE=${PHOTO_PATIENCE:-$((10 * SLOW))}

T=$(mktemp -d "${TMPDIR:-/tmp}/jeprof-ctl-test.XXXXXX")
chmod 755 "$T"
# A copy, which every user can access and a concurrent build does not change.
install -m 755 "$CTL" "$T/jeprof-ctl" && CTL=$T/jeprof-ctl
started=()
mounted=()
at_end=()
declare -A redis_of=() photographed=()

# --- ending -------------------------------------------------------------------------------

# Only kill a process that is still our child: its pid cannot have been reused. From now on nobody
# expects a target to be alive.
end_child()
{
	unset "photographed[$1]"
	[ "$(awk '/^PPid:/ { print $2 }' "/proc/$1/status" 2>/dev/null)" = $$ ] || return 0
	kill -CONT "$1" 2>/dev/null
	kill "${2:-TERM}" "$1" 2>/dev/null
}

stop_all()
{
	local pid tries

	for pid in "${started[@]}"; do
		end_child "$pid" -TERM
	done
	for ((tries = 0; tries < 50; tries++)); do
		jobs -rp | grep -q . || break
		sleep 0.1
	done
	for pid in "${started[@]}"; do
		end_child "$pid" -KILL
	done
	wait 2>/dev/null
}

clean_up()
{
	local status=$? dir command

	trap - EXIT
	[ "$status" -eq 0 ] || ! any_harmed || harm
	stop_all 2>/dev/null
	for command in "${at_end[@]}"; do
		eval "$command"
	done
	for dir in "${mounted[@]}"; do
		umount "$dir" 2>/dev/null
	done
	[ -n "${KEEP:-}" ] || rm -rf "$T"
	exit "$status"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# own PID: remember a background process of this shell, to be killed at the end of the test
own()
{
	started+=("$1")
}

# --- TAP ----------------------------------------------------------------------------------

count=0
failures=0

diag()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

result()
{
	local status=$1 name=${2//#/no. }

	count=$((count + 1))
	if [ "$status" -eq 0 ]; then
		echo "ok $count - $name"
		return 0
	fi
	echo "not ok $count - $name"
	failures=$((failures + 1))
	case $name in *untouched* | *sanitizer* | *'left behind'* | *no[\ t]*\ is\ left*) harm ;; esac
	return 1
}

# Do not retry this test (see tests/run): a target or a file was harmed.
harm()
{
	[ -z "${HARM:-}" ] || echo "${0##*/}" >>"$HARM"
}

# ok NAME COMMAND...: the command must succeed
ok()
{
	local name=$1 said

	shift
	if said=$("$@" 2>&1); then
		result 0 "$name"
	else
		result 1 "$name"
		diag "$said"
		return 1
	fi
}

# is GOT WANTED NAME
is()
{
	if [ "$1" = "$2" ]; then
		result 0 "$3"
	else
		result 1 "$3"
		diag "got:    '$1'"$'\n'"wanted: '$2'"
		return 1
	fi
}

# like GOT REGEX NAME (an extended regular expression)
like()
{
	if [[ $1 =~ $2 ]]; then
		result 0 "$3"
	else
		result 1 "$3"
		diag "got:    '$1'"$'\n'"wanted: /$2/"
		return 1
	fi
}

unlike()
{
	if [[ $1 =~ $2 ]]; then
		result 1 "$3"
		diag "got: '$1', which /$2/ matches"
		return 1
	fi
	result 0 "$3"
}

# A skip whose reason is not on the list of tests/skips is a failure.
skip()
{
	local reason=$1 name=$2

	if grep -qxF -- "$reason" tests/skips; then
		count=$((count + 1))
		echo "ok $count - $name # SKIP $reason"
	else
		result 1 "$name" || diag "skipped for a reason that is not in tests/skips: $reason"
	fi
}

done_testing()
{
	echo "1..$count"
	[ "$failures" -eq 0 ]
	exit
}

# The rest of this file cannot be tested; other files continue.
bail_out()
{
	result 1 'the test can continue' || diag "$*"
	exit 1
}

# On Debian, systemd mounts it; not every container and virtual machine has it.
need_tracefs()
{
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing ||
		bail_out 'tracefs cannot be mounted'
}

# --- waiting and looking ------------------------------------------------------------------

# within SECONDS COMMAND...: retry until it succeeds. A timeout is reported, as slowness may be the
# only cause.
within()
{
	local deadline=$((SECONDS + $1 * SLOW))

	shift
	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -gt "$deadline" ]; then
			diag "waited in vain for: $*"
			return 1
		fi
		sleep 0.05
	done
}

# free_port [N]: print N distinct free ports
free_port()
{
	python3 -c 'import socket, sys
all = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in all))' "${1:-1}"
}

# gojq starts in 3 ms, jq 1.6 in 40. It sorts the keys of an object. Virtual machines only have jq.
if command -v gojq >/dev/null; then
	jq() { gojq "$@"; }
else
	jq() { command jq -S "$@"; }
fi

# json EXPRESSION [FILE]: apply jq to the last output
json()
{
	jq -r "$1" "${2:-$T/out}" 2>&1
}

# page_data PAGE: write the JSON data of a page to $T/out
page_data()
{
	sed -n '/^<script type="application\/json" id="data">/,/<\/script>$/p' "$1" |
		sed -e 's/^<script type="application\/json" id="data">//' -e 's/<\/script>$//' >"$T/out"
}

# own_usr: from now on, files added below /usr exist only for this test, but look like the system's
own_usr()
{
	mkdir -p "$T/usr/upper" "$T/usr/work" &&
		mount -t overlay tests /usr -o "lowerdir=/usr,upperdir=$T/usr/upper,workdir=$T/usr/work" ||
		bail_out 'no overlayfs on /usr'
	at_end+=('umount -l /usr')
}

# --- jeprof-ctl ---------------------------------------------------------------------------

# On a loaded machine our own threads may wait for a CPU for many seconds, which must not fail a test.
patient=(--max-pause 60s --timeout "$((100 * SLOW))s")

# What is said if jemalloc was not called because we or the target got no CPU (also for the drivers)
NO_TIME='(starved until the timeout|timed out before jemalloc was called|got no time on a CPU); nothing was changed'
NO_TIME+='|there was no time to examine a thread|did not stop in time: no CPU ran it'
# With exit status 9. What it began will finish on its own.
NO_TIME+='|timed out before jemalloc was called; jemalloc was not called, but'
export NO_TIME

# had_no_time: did the last command say so?
had_no_time()
{
	[[ $status =~ ^[89]$ ]] && grep -qE "$NO_TIME" "$T/err" "$T/out"
}

# run_ctl ARGUMENTS...: run jeprof-ctl, through `runner` if set. Sets `status`, `out` and `err`.
# Status 124 is our own time limit.
runner=()
run_ctl()
{
	local tries

	for tries in {1..10}; do
		timeout -k 5 $((120 * SLOW)) "${runner[@]}" "$CTL" "${patient[@]}" "$@" >"$T/out" 2>"$T/err" </dev/null
		status=$?
		out=$(tr -d '\0' <"$T/out")
		err=$(<"$T/err")
		had_no_time || break
		diag "try $tries: $err"
	done
	case $err in *Sanitizer* | *'runtime error'*) result 1 "no finding of a sanitizer" || diag "$err" ;; esac
	return 0
}

# A sanitizer build needs more memory, and its children keep their stderr.
is_sanitized()
{
	grep -qaF __asan_init "$CTL"
}

# ctl_ok NAME ARGUMENTS...: it must exit with 0
ctl_ok()
{
	local name=$1

	shift
	run_ctl "$@"
	if [ "$status" -eq 0 ]; then
		result 0 "$name"
	else
		result 1 "$name" || diag "jeprof-ctl $*: exit $status"$'\n'"$err"$'\n'"${out:0:2000}"
	fi
}

# ctl_fails STATUS IDS NAME ARGUMENTS...: it must exit with STATUS, and its message must end with
# these ids of errors and fixes, and maybe others
ctl_fails()
{
	local want=$1 ids=$2 name=$3 id said missing=

	shift 3
	JEPROF_CTL_ERROR_IDS=1 run_ctl "$@"
	said=" $(tail -n 1 "$T/err" | tr -s '[];:' ' ') "
	for id in ${ids:?an error has an id}; do
		[[ $said == *" $id "* ]] || missing+=" $id"
	done
	if [ "$status" -eq "$want" ] && [ -z "$missing" ]; then
		result 0 "$name"
	else
		result 1 "$name" || diag "jeprof-ctl $*"$'\n'"got:    exit $status, '$err'"$'\n'"wanted: exit $want, [$ids]"
	fi
	[ "$(wc -c <"$T/out")" -eq 0 ] || result 1 "$name: nothing on standard output" || diag "$out"
}

# is_left_alone REGEX NAME ARGUMENTS...: it must be refused with exit status 8, and REGEX match the
# reason of the last attempt. An attempt may find a thread that was just created, or preempted in
# the C library, and the message has only the last reason: retry up to three times. Any other status
# fails immediately.
is_left_alone()
{
	local regex="no safe moment was found in [0-9]+ attempts; .*$1" name=$2 tries

	shift 2
	for tries in 1 2 3 4; do
		run_ctl "$@"
		[ "$status" -ne 8 ] || [[ $err =~ $regex ]] && break
		diag "$name: asked $tries times: $err"
	done
	is "$(stat -c %s "$T/out")" 0 "$name: nothing on stdout" || diag "$out"
	like "exit $status, $err" "^exit 8, .*$regex" "$name"
}

# --- targets ------------------------------------------------------------------------------

# Each function sets `pid`; victims also have their board in $T/board.PID.

# start_victim NAME [ARGUMENTS...]: start a program of tests/target, through `wrap` if set: a
# program that must keep the pid (env, setpriv, chroot) or print nothing
wrap=()
start_victim()
{
	local name=$1 file

	shift
	[[ $name == /* ]] || name=$VICTIMS/$name
	# Another user may not have access to the checkout.
	if [[ ${wrap[0]:-} == setpriv ]]; then
		install -m 755 "$name" "$T/" && name=$T/${name##*/}
	fi
	file=$(mktemp "$T/victim.XXXXXX")
	"${wrap[@]}" "$name" fd:3 "$@" 3<>"$file" >>"$T/victims.log" 2>&1 &
	pid=$!
	own "$pid"
	tests/drivers/photo ready "$file" "$pid" >/dev/null || bail_out "$name did not start: $(tail -n 3 "$T/victims.log")"
	ln -f "$file" "$T/board.$pid" # the pid may have been reused
}

# start_mapper LIBRARY [clear]: start a process that maps the library as executable data; `clear`
# erases the header in its memory. Sets `pid`.
start_mapper()
{
	"${wrap[@]}" /usr/bin/python3 - "$@" >"$T/mapped" <<-'PYTHON' &
		import mmap, os, sys, time
		kept = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 0, mmap.MAP_PRIVATE,
		                 mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
		if len(sys.argv) > 2:
		    kept[:64] = bytes(64)
		print("mapped", flush=True)
		time.sleep(1000)
	PYTHON
	pid=$!
	own "$pid"
	within 60 grep -q mapped "$T/mapped" || bail_out "nothing maps $1"
}

# start_redis [ARGUMENTS...]: on a Unix socket, with DEBUG allowed and the caller's MALLOC_CONF
start_redis()
{
	launch_redis "$T" --enable-debug-command yes "$@"
}

# launch_redis FOLDER [ARGUMENTS...]: FOLDER is $T as seen by the server
launch_redis()
{
	local folder=$1 dir

	shift
	dir=$(mktemp -d "$T/redis.XXXXXX")
	chmod 777 "$dir"
	sock=$dir/sock
	"${wrap[@]}" redis-server --port 0 --unixsocket "$folder/${dir##*/}/sock" --save '' \
		--appendonly no --dir "$folder/${dir##*/}" --loglevel warning "$@" >"$dir/log" 2>&1 &
	pid=$!
	own "$pid"
	redis_of[$pid]=$sock
	within 60 redis PING || bail_out "redis-server did not start: $(<"$dir/log")"
}

# build_for_root VICTIM [FLAGS...]: build a program of tests/target as $T/VICTIM, with the C library
# of enter_root()'s root
build_for_root()
{
	local name=$1 lib

	shift
	lib=$root/usr/lib/$(cc -print-multiarch)
	cc --sysroot="$root" -B"$lib" -L"$lib" -L"$root/lib/$(cc -print-multiarch)" -std=gnu17 -O2 -pthread \
		-I. -D_GNU_SOURCE= -o "$T/$name" "$@" "tests/target/$name.c" tests/target/victim.c \
		-Wl,--no-as-needed -ljemalloc || bail_out "cannot build $name for $root"
}

# enter_root SUITE: run programs from now on in tests/make-root's root of that Debian suite, in
# their own mount namespaces, with $T as /mnt. Sets `root`.
enter_root()
{
	root=$(tests/make-root "$1") || bail_out "there is no root directory of Debian $1"
	# shellcheck disable=SC2016 # the inner shell's arguments
	wrap=(unshare -m sh -c 'mount --rbind /proc "$1/proc" && mount --bind "$2" "$1/mnt" &&
		root=$1 && shift 2 && exec chroot "$root" "$@"' sh "$root" "$T")
}

redis()
{
	redis-cli -s "$sock" "$@"
}

# Add new keys, so that a profile has something to show: redis does not replace existing ones.
loads=0
load_redis()
{
	loads=$((loads + 1))
	redis DEBUG POPULATE "${1:-20000}" "key$loads" "${2:-200}" >/dev/null
}

stop_target()
{
	end_child "$1" "${2:--TERM}"
	wait "$1" 2>/dev/null
	return 0
}

# --- untouched ----------------------------------------------------------------------------

# snapshot PID: call this before working on a target
snapshot()
{
	tests/drivers/photo take "$1" "$T/photo.$1" || bail_out "cannot photograph $1"
	photographed[$1]=yes
}

# Has a target died unexpectedly, or is one still traced?
any_harmed()
{
	local target

	for target in "${!photographed[@]}"; do
		grep -qs '^State:.[^ZX]' "/proc/$target/status" && grep -qs '^TracerPid:.0$' "/proc/$target/status" || return 0
	done
	return 1
}

# on_board FILTER: apply jq to what the victim has seen
on_board()
{
	tests/drivers/photo board "$T/board.$pid" | jq "$@"
}

# Nothing is [0,0,0,0].
seen_harm()
{
	on_board -c '[.eintr, .corrupt, .altstack, .failed]'
}

is_unharmed()
{
	[ "$(seen_harm)" = '[0,0,0,0]' ]
}

# For controls: not true if the board cannot be read.
is_harmed()
{
	on_board -e '[.eintr, .corrupt, .altstack, .failed] | any(. > 0)' >/dev/null
}

pongs()
{
	[ "$(redis-cli -s "$1" PING)" = PONG ]
}

# assert_untouched PID [NAME]: it must be as in its snapshot, and still work
assert_untouched()
{
	local target=$1 name=${2:-the target is untouched} board=() said

	[ -e "$T/board.$target" ] && board=("$T/board.$target")
	if said=$(tests/drivers/photo check "$target" "$T/photo.$target" "${board[@]}" 2>&1) &&
		{ [ -z "${redis_of[$target]:-}" ] || within 60 pongs "${redis_of[$target]}"; }; then
		result 0 "$name"
	else
		harm
		result 1 "$name" || diag "$said"
	fi
}

# --- profiles -----------------------------------------------------------------------------

# The stacks of a heap profile, one per line, sorted: the oracle's and ours must be equal.
stacks_of()
{
	grep '^@' "$1" | sort -u
}

is_profile()
{
	head -n 1 "$1" | grep -q '^heap_v2/' && grep -q '^MAPPED_LIBRARIES:' "$1"
}

# comes_to_have_stacks FILE [OPTIONS...]: dump `pid` until the profile has stacks. As allocations
# are sampled at random, the first dump may be too early.
comes_to_have_stacks()
{
	within 60 has_stacks "$@"
}

has_stacks()
{
	local file=$1

	shift
	stacks_of "$file" | grep -q . && return
	"$CTL" -q "${patient[@]}" "$@" dump "$pid" --force -o "$file"
	return 1
}
