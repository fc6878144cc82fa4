#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names of addresses: those of addr2line if there is debug data, those of C++ and Rust as in their
# source, none if none is known, and never those of another file.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:8

# A C program with debug data, in which two functions are inlined.
cat >"$T/names.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
char *volatile kept;
static inline __attribute__((always_inline)) void inner(size_t n)
{
	kept = malloc(n);
}
static inline __attribute__((always_inline)) void middle(size_t n)
{
	inner(n + 1);
}
__attribute__((noinline)) void outer(size_t n)
{
	for (int i = 0; i < 200; i++)
		middle(n);
}
__attribute__((noinline)) static void hidden(size_t n)
{
	kept = malloc(n);
	kept[0] = 1;
}
int main(void)
{
	outer(3000);
	for (int i = 0; i < 200; i++)
		hidden(2000);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
C
cat >"$T/names.cc" <<'CC'
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>
namespace app {
template <class T> struct Store {
	std::vector<T *> all;
	__attribute__((noinline)) void add(const T &t) { all.push_back(new T(t)); }
};
}
int main()
{
	app::Store<std::string> s;
	for (int i = 0; i < 500; i++)
		s.add(std::string(500, 'x'));
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
CC
cc -std=gnu17 -O2 -g -o "$T/names" "$T/names.c" -Wl,--no-as-needed -ljemalloc || bail_out 'no compiler'
c++ -O2 -g -o "$T/names++" "$T/names.cc" -Wl,--no-as-needed -ljemalloc || bail_out 'no C++ compiler'

# start PROGRAM: start it. Sets `pid`.
start()
{
	"${wrap[@]}" "$1" >"$T/said" 2>&1 &
	pid=$!
	own "$pid"
	within 60 grep -q ready "$T/said" || bail_out "$1 did not start: $(<"$T/said")"
}

# stacks FILE: print the stacks of a JSON profile, one per line, innermost first: name@file:line ...
stacks()
{
	jq -r '.functions as $f | .stacks[] | [.frames[] | $f[.[0]].name + "@" +
		($f[.[0]].file // "?") + ":" + (.[1] | tostring)] | join(" ")' "$1"
}

# line_of TEXT: print its line in names.c
line_of()
{
	grep -nF "$1" "$T/names.c" | head -n 1 | cut -d: -f1
}

# render NAME [ARGUMENTS...]: dump the process as JSON, and write the stacks to $T/stacks
render()
{
	local name=$1

	shift
	ctl_ok "$name: dump -f json" dump "$pid" -f json --no-cache --force -o "$T/p.json" "$@"
	stacks "$T/p.json" >"$T/stacks"
}

# --- C: inlined calls, as with addr2line ---
start "$T/names"
snapshot "$pid"
render 'C'
c=$T/names.c
like "$(<"$T/stacks")" "(^|"$'\n'")inner@$c:$(line_of 'kept = malloc(n)') middle@$c:$(line_of 'inner(n + 1)') outer@$c:$(line_of 'middle(n)') main@$c:$(line_of 'outer(3000)') " \
	'C: the inlined calls, with their lines'
like "$(<"$T/stacks")" "hidden(\.[^@ ]*)?@$c:$(line_of 'kept[0] = 1' | awk '{ print $1 - 1 }') main@$c:" 'C: a function that is not exported'
unlike "$(<"$T/stacks")" 'libjemalloc' 'C: nothing of the allocator'

# Compare with addr2line, for every address of the program.
ctl_ok 'C: dump' dump "$pid" -o "$T/names.heap"
bias=$(awk -v path="$T/names" '$NF == path && $3 == "00000000" { print "0x" substr($1, 1, index($1, "-") - 1); exit }' "$T/names.heap")
addr2line_stacks()
{
	awk '/^@/ { print; }' "$T/names.heap" | sort -u | while read -r _ addresses; do
		for a in $addresses; do
			[ $((a)) -ge $((bias)) ] && [ $((a)) -lt $((bias + 0x10000)) ] &&
				printf '0x%x\n' $((a - 1 - bias))
		done
	done | sort -u | addr2line -a -i -f -C -e "$T/names" | sed 's/ (discriminator .*//' |
		awk '/^0x/ { next } { name = $0; getline; print name "@" $0 }' | sed 's/@??:.*/@?:0/' | sort -u
}
addr2line_stacks >"$T/theirs"
# addr2line omits suffixes that distinguish the compiler's clones of a function.
tr ' ' '\n' <"$T/stacks" | grep -E "@$c|^_start@" | sed 's/\.[^@]*@/@/' | sort -u >"$T/ours"
is "$(<"$T/ours")" "$(<"$T/theirs")" 'C: the names, files and lines of addr2line -i'

# --- facts that dump appends, and jeprof ignores ---
like "$(<"$T/names.heap")" "# pid $pid"$'\n'"# comm names"$'\n'"# host $(hostname)"$'\n''# version 5\.[^ ]*'$'\n''# time_ns [0-9]+' \
	'facts: the process, the host, jemalloc, the time'
id=$(readelf -n "$T/names" | awk '/Build ID:/ { print $3 }')
like "$(<"$T/names.heap")" "# build-id [0-9a-f]+-[0-9a-f]+ $id" 'facts: the build id'
grep -v '^# ' "$T/names.heap" >"$T/plain.heap"
for mode in --text --lines --addresses; do
	is "$(jeprof --text $mode "$T/names" "$T/names.heap" 2>/dev/null)" \
		"$(jeprof --text $mode "$T/names" "$T/plain.heap" 2>/dev/null)" "facts: jeprof $mode is not disturbed"
done
like "$(jeprof --text "$T/names" "$T/names.heap" 2>/dev/null)" ' outer' 'facts: jeprof reads the file'

assert_untouched "$pid" 'C: the target is untouched'

# --- a deleted program, replaced by another file ---
cp "$T/names++" "$T/other"
mv "$T/other" "$T/names"
snapshot "$pid"
render 'deleted'
like "$(<"$T/stacks")" "inner@$c:[0-9]+ middle@" 'deleted: named by the file that is mapped'
unlike "$(<"$T/stacks")" 'app::' 'deleted: not by the file that is there now'
assert_untouched "$pid" 'deleted: the target is untouched'
stop_target "$pid"

# --- debug data in other files ---
mkdir "$T/dwz"
for name in one two; do
	cc -std=gnu17 -O2 -g -o "$T/dwz/$name" "$T/names.c" -Wl,--no-as-needed -ljemalloc
done
(cd "$T/dwz" && dwz -m common.debug -M common.debug one two) || bail_out 'dwz failed'
start "$T/dwz/one"
snapshot "$pid"
render 'dwz'
like "$(<"$T/stacks")" "inner@$c:[0-9]+ middle@$c:[0-9]+ outer@" 'dwz: what several files have in common is found'
mv "$T/dwz/common.debug" "$T/dwz/away"
render 'dwz, without the common file'
like "$err" 'cannot find common\.debug, which the debug data of .*/one needs: it has no lines' 'dwz, without the common file: a warning'
like "$(<"$T/stacks")" '(^|'$'\n'')outer@\?:0 main@' 'dwz, without the common file: names of the symbol table'
cp "$T/names" "$T/dwz/common.debug"
render 'dwz, another common file'
like "$err" 'cannot find common\.debug' 'dwz, another common file: not used'
assert_untouched "$pid" 'dwz: the target is untouched'
stop_target "$pid"
strip -g -o "$T/dwz/less" "$T/dwz/one"
like "$(readelf -SW "$T/dwz/less")" 'gnu_debugaltlink' 'dwz, stripped of debug data: the name of the common file is left'
start "$T/dwz/less"
snapshot "$pid"
render 'dwz, stripped of debug data'
unlike "$err" 'cannot find common\.debug' 'dwz, stripped of debug data: nothing needs the common file'
unlike "$err" 'debug symbols for [^ ]*/less' 'dwz, stripped of debug data: it has names'
assert_untouched "$pid" 'dwz, stripped of debug data: the target is untouched'
stop_target "$pid"
(cd "$T/dwz" && cc -std=gnu17 -O2 -g -gsplit-dwarf -o split "$c" -Wl,--no-as-needed -ljemalloc)
start "$T/dwz/split"
snapshot "$pid"
render 'split'
like "$(<"$T/stacks")" "(^|"$'\n'")outer@$c:[0-9]+ main@$c:[0-9]+ " 'split: the function around, and the line'
like "$err" 'the debug data of .*/split is split: inlined calls are in \.dwo files' 'split: warning'
assert_untouched "$pid" 'split: the target is untouched'
stop_target "$pid"

# --- more lines than are kept at once: the units after them are also read ---
mkdir "$T/long"
for n in 1 2 3; do
	{
		printf 'void *malloc(unsigned long);\nextern char *volatile kept;\nvolatile int x%d;\n' "$n"
		[ "$n" -eq 3 ] || printf 'void unit%d(void);\n' $((n + 1))
		printf '__attribute__((noinline)) void unit%d(void)\n{\n' "$n"
		yes "x$n++;" | head -n 40000
		if [ "$n" -eq 3 ]; then echo 'kept = malloc(3000);'; else echo "unit$((n + 1))();"; fi
		printf 'x%d++;\n}\n' "$n"
	} >"$T/long/$n.c"
done
cat >"$T/long/main.c" <<'C'
#include <stdio.h>
#include <unistd.h>
char *volatile kept;
void unit1(void);
int main(void)
{
	for (int i = 0; i < 200; i++)
		unit1();
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
C
(cd "$T/long" && cc -O0 -g -o long 1.c 2.c 3.c main.c -Wl,--no-as-needed -ljemalloc) || bail_out 'no compiler'
start "$T/long/long"
snapshot "$pid"
render 'many lines'
like "$(<"$T/stacks")" "(^|"$'\n'")unit3@$T/long/3.c:40006 unit2@$T/long/2.c:40007 unit1@$T/long/1.c:40007 main@$T/long/main.c:8 " \
	'many lines: those of each unit'
assert_untouched "$pid" 'many lines: the target is untouched'
stop_target "$pid"

# --- C++ ---
start "$T/names++"
snapshot "$pid"
render 'C++'
like "$(<"$T/stacks")" 'app::Store<std::__cxx11::basic_string<char, .*>::add\(std::__cxx11::basic_string<.*@[^ ]*names\.cc:8 ' \
	'C++: a method, with its arguments and its line'
unlike "$(<"$T/stacks")" '(^|'$'\n'')operator new' 'C++: operator new is the allocator'
assert_untouched "$pid" 'C++: the target is untouched'
stop_target "$pid"

# --- two functions of the same name ---
mkdir "$T/two"
for n in a b; do
	cat >"$T/two/$n.cc" <<CC
#include <cstdlib>
extern char *volatile kept;
template <class F> __attribute__((always_inline)) inline void call(F f)
{
	f();
}
namespace app_$n {
namespace {
inline __attribute__((always_inline)) void hid()
{
	kept = (char *)malloc(3000);
}
__attribute__((noinline)) void init()
{
	for (int i = 0; i < 100; i++)
		call([] { kept = (char *)malloc(2000); });
	hid();
	kept[0] = 1;
}
}
}
__attribute__((noinline)) static void setup()
{
	for (int i = 0; i < 100; i++)
		call([] { kept = (char *)malloc(2500); });
	kept[0] = 1;
}
void run_$n()
{
	app_$n::init();
	setup();
	kept[0] = 1;
}
CC
	cat >"$T/two/$n.c" <<C
#include <stdlib.h>
extern char *volatile kept;
static __attribute__((noinline)) void init(void)
{
	for (int i = 0; i < 100; i++)
		kept = malloc(1000);
	kept[0] = 1;
}
void go_$n(void)
{
	init();
	kept[0] = 1;
}
C
done
cat >"$T/two/main.c" <<'C'
#include <stdio.h>
#include <unistd.h>
char *volatile kept;
void FIRST(void);
void SECOND(void);
int main(void)
{
	FIRST();
	SECOND();
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
C
(cd "$T/two" && cc -std=gnu17 -O2 -g -DFIRST=go_a -DSECOND=go_b -o c a.c b.c main.c -Wl,--no-as-needed -ljemalloc &&
	cc -std=gnu17 -O2 -g -DFIRST=_Z5run_av -DSECOND=_Z5run_bv -c main.c &&
	c++ -O2 -g -o cc a.cc b.cc main.o -Wl,--no-as-needed -ljemalloc && strip -g -o less c) || bail_out 'no compiler'

# rows PROGRAM [ARGUMENTS...]: write the names in a report of it to $T/rows, one per line
rows()
{
	start "$T/two/$1"
	snapshot "$pid"
	ctl_ok "two of a name, $1: dump" dump "$pid" --force -o "$T/two.heap"
	ctl_ok "two of a name, $1: report" report --no-cache --json -n 0 "${@:2}" "$T/two.heap"
	jq -r '.rows[].name' "$T/out" | sort >"$T/rows"
	ctl_ok "two of a name, $1: report -f folded" report --no-cache -f folded "$T/two.heap"
	assert_untouched "$pid" "two of a name, $1: the target is untouched"
	stop_target "$pid"
}
rows c
is "$(grep init "$T/rows" | grep -vE 'call_init|_dl_init')" 'init (a.c)'$'\n''init (b.c)' 'two static functions: a row each, by file'
like "$out" ';go_a;init \(a\.c\) ' 'two static functions: in folded, too'
rows less
like "$(grep init "$T/rows" | grep -vE 'call_init|_dl_init')" '^init \(less:0x[0-9a-f]+\)'$'\n''init \(less:0x[0-9a-f]+\)$' 'two static functions, without debug data: by address'
rows cc
for n in a b; do
	for name in "app_$n::(anonymous namespace)::init()::(anonymous class)::operator()" "app_$n::(anonymous namespace)::hid" \
		"setup() ($n.cc)" "setup()::(anonymous class)::operator() ($n.cc)"; do
		ok "C++: $name" grep -qxF "$name" "$T/rows"
	done
done
unlike "$(<"$T/rows")" '(^|'$'\n'')(operator|hid|init)' 'C++: no function without its scope'

# --- a stripped program: no names are guessed ---
cc -std=gnu17 -O2 -g -o "$T/names" "$T/names.c" -Wl,--no-as-needed -ljemalloc
strip -o "$T/bare" "$T/names"
start "$T/bare"
snapshot "$pid"
render 'stripped'
like "$(<"$T/stacks")" '(^|'$'\n'')\[bare\+0x[0-9a-f]+\]@\?:0 \[bare\+0x[0-9a-f]+\]@\?:0 ' 'stripped: no names'
unlike "$(<"$T/stacks")" '(^|[ '$'\n''])(outer|hidden|inner|middle|main|_init|_fini)(\.[^@]*)?@' 'stripped: no names of the program at all'
# In this program, addresses are equal to offsets in the file.
readelf --debug-dump=frames "$T/bare" 2>/dev/null | sed -nE 's/.* FDE .*pc=0*([0-9a-f]+)\.\..*/[bare+0x\1]/p' | sort -u >"$T/begins"
grep -oE '\[bare\+0x[0-9a-f]+\]' "$T/stacks" | sort -u >"$T/shown"
is "$(comm -23 "$T/shown" "$T/begins")" '' 'stripped: a function is where its unwind table begins'
ok 'stripped: outer, hidden, main and _start' test "$(wc -l <"$T/shown")" -eq 4
bare_id=$(readelf -n "$T/bare" | awk '/Build ID:/ { print $3 }')
no_symbols="there are no debug symbols for $T/bare \(build id $bare_id\), where 9[0-9]% of the bytes are allocated"
like "$err" "$no_symbols.* its -dbgsym package.* --debuginfod" 'stripped: a warning, with its fixes'
is "$(grep -c "debug symbols for $T/bare" <<<"$err")" 1 'stripped: only one warning'
unlike "$err" 'debug symbols for [^ ]*/libc\.so' 'stripped: none about files that matter less'
DEBUGINFOD_URLS='' render 'stripped, --debuginfod' --debuginfod
like "$err" 'cannot use debuginfod: DEBUGINFOD_URLS is not set; set DEBUGINFOD_URLS' '--debuginfod without a server: a warning'
is "$(grep -c 'cannot use debuginfod' <<<"$err")" 1 '--debuginfod without a server: one warning'
assert_untouched "$pid" 'stripped: the target is untouched'

# A separate debug file, found only by build id: only the right one counts.
mkdir -p "$T/debug/.build-id/${id:0:2}"
objcopy --only-keep-debug "$T/names" "$T/debug/.build-id/${id:0:2}/${id:2}.debug"
cat >"$T/with_debug" <<'SH'
#!/bin/bash
mkdir -p /usr/lib/debug
mount -t tmpfs none /usr/lib/debug && cp -r "$1/." /usr/lib/debug && shift && exec "$@"
SH
chmod 755 "$T/with_debug"
real_ctl=$CTL
printf '#!/bin/sh\nexec unshare -m %s %s %s "$@"\n' "$T/with_debug" "$T/debug" "$real_ctl" >"$T/ctl"
chmod 755 "$T/ctl"
CTL=$T/ctl
render 'debug file'
like "$(<"$T/stacks")" "inner@$c:[0-9]+ middle@$c:[0-9]+ outer@" 'debug file: names, inlined calls and lines'
wrong=$T/wrong/.build-id/${id:0:2}
mkdir -p "$wrong"
objcopy --only-keep-debug "$T/names++" "$wrong/${id:2}.debug"
printf '#!/bin/sh\nexec unshare -m %s %s %s "$@"\n' "$T/with_debug" "$T/wrong" "$real_ctl" >"$T/ctl"
render 'wrong debug file'
like "$(<"$T/stacks")" '(^|'$'\n'')\[bare\+' 'wrong debug file: not used'
CTL=$real_ctl
assert_untouched "$pid" 'debug file: the target is untouched'
stop_target "$pid"

# --- another root: the file with that path here is another one ---
mkdir -p "$T/inside"
cp "$T/names++" "$T/path"
cp "$T/names" "$T/inside/path"
cat >"$T/in_mount" <<SH
#!/bin/sh
mount --bind "$T/inside/path" "$T/path" && exec "$T/path"
SH
chmod 755 "$T/in_mount"
wrap=(unshare -m)
start "$T/in_mount"
wrap=()
snapshot "$pid"
render 'another mount namespace'
like "$(<"$T/stacks")" "inner@$c:[0-9]+ middle@" 'another mount namespace: named by the file that it sees'
unlike "$(<"$T/stacks")" 'app::' 'another mount namespace: not by the file of that name here'
assert_untouched "$pid" 'another mount namespace: the target is untouched'
stop_target "$pid"

# --- the cache: names from debug data, by build id ---
cached=/var/cache/jeprof-ctl/$id.symbols
mv "$cached" "$T/before" 2>/dev/null
own_usr
start "$T/names"
snapshot "$pid"
ctl_ok 'cache: a file that is not the system'"'"'s' dump "$pid" -f json -o "$T/c0.json"
ok 'cache: its names are not kept' test ! -e "$cached"
stop_target "$pid"
cp "$T/names" /usr/lib/jeprof-ctl-names
start /usr/lib/jeprof-ctl-names
snapshot "$pid"
ctl_ok 'cache: none yet' dump "$pid" -f json -o "$T/c1.json"
ok 'cache: kept' test -s "$cached"
is "$(stat -c '%a %U' "$cached")" '600 root' 'cache: only its owner can read it'
ctl_ok 'cache: used' dump "$pid" -f json -o "$T/c2.json"
is "$(stacks "$T/c2.json" | sort)" "$(stacks "$T/c1.json" | sort)" 'cache: the same names'
cp "$cached" "$T/good"
for broken in cut noise foreign; do
	case $broken in
	cut) head -c 100 "$T/good" >"$cached" ;;
	noise) head -c 4096 /dev/urandom >"$cached" ;;
	foreign) cp "$T/good" "$cached" && chown nobody "$cached" ;;
	esac
	ctl_ok "cache, $broken: dump" dump "$pid" -f json --force -o "$T/c3.json"
	is "$(stacks "$T/c3.json" | sort)" "$(stacks "$T/c1.json" | sort)" "cache, $broken: the same names"
	is "$(stat -c %s "$cached")" "$(stat -c %s "$T/good")" "cache, $broken: written again"
done
rm "$cached"
cp "$T/good" "$T/linked"
echo noise >>"$T/linked"
ln -s "$T/linked" "$cached"
ctl_ok 'cache, a link: dump' dump "$pid" -f json --force -o "$T/c3.json"
is "$(stacks "$T/c3.json" | sort)" "$(stacks "$T/c1.json" | sort)" 'cache, a link: the same names'
like "$(tail -c 6 "$T/linked")" noise 'cache, a link: it is not written through'
assert_untouched "$pid" 'cache: the target is untouched'
stop_target "$pid"
rm -f "$cached"
[ ! -e "$T/before" ] || mv "$T/before" "$cached"

# --- Debian's redis: every name covers its address ---
start_redis
load_redis 2000
snapshot "$pid"
ctl_ok 'redis: dump' dump "$pid" -o "$T/redis.heap"
ctl_ok 'redis: dump -f json' dump "$pid" -f json --no-cache -o "$T/redis.json"
stacks "$T/redis.json" | tr ' ' '\n' | sed 's/@.*//' | sort -u >"$T/redis.names"
like "$(<"$T/redis.names")" 'zmalloc' 'redis: some names are known'
assert_untouched "$pid" 'redis: the target is untouched'

# Invalid outputs are refused before the target is touched.
ctl_fails 2 'format_unknown available_formats' 'an unknown format' dump "$pid" -f gif
ctl_fails 2 exclusive '-f with --in-target' dump "$pid" -f json --in-target
run_ctl dump "$pid" -f folded -o -
like "$(<"$T/out")" ';zmalloc[^;]* [0-9]+' 'folded, to stdout'
assert_untouched "$pid" 'redis: the target is untouched'
done_testing
