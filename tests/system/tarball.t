#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The archive that runs from any folder: what it contains, that it is reproducible, and that it uses
# only its own files, wherever it is, even in a system without libraries.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

# --- the archive ---

ok 'the archive is built' make -s tarball || bail_out 'there is no archive'
name=jeprof-ctl-$(packaging/version)-linux-$(uname -m)
archive=$ROOT/build/$name.tar.gz
ok 'its checksum is right' sh -c 'cd build && sha256sum -c "$1"' sh "$name.tar.gz.sha256"
is "$(tar -tf "$archive" | grep -v "^$name/")" '' 'all of it is in one folder'
is "$(tar -tvf "$archive" | awk '{ print $2 }' | sort -u)" 0/0 "all of it is root's"
is "$(tar -tvf "$archive" | awk '$1 !~ /^(-rw-r--r--|[-d]rwxr-xr-x)$/')" '' 'nobody else may write there'

# From a copy of the checkout, in a folder with a longer name, with another umask and time zone.
again=$T/another-folder/with-a-longer-name-than-this-one
mkdir -p "$again"
git ls-files -z -co --exclude-standard | xargs -0 cp --parents -P -t "$again"
ok 'it is built again, elsewhere' sh -c 'cd "$1" && umask 077 && export SOURCE_DATE_EPOCH="$2" TZ=Asia/Kolkata && make -s tarball' \
	sh "$again" "$(packaging/version --date)"
is "$(sha256sum <"$again/build/$name.tar.gz")" "$(sha256sum <"$archive")" 'byte for byte the same'

one=$T/one/$name other="$T/other folder, with ümlaut/and more"
mkdir -p "$T/one" "$other"
# A minimal Debian has no xz or zstd.
mkdir "$T/bin"
ln -s "$(command -v tar)" "$T/bin"
like "$(PATH=$T/bin tar -xf "$archive" -C "$T/one" 2>&1)" 'gzip: Cannot exec' 'control: tar alone does not unpack it'
ln -s "$(command -v gzip)" "$T/bin"
is "$(PATH=$T/bin tar -xf "$archive" -C "$T/one" 2>&1)" '' 'tar and gzip unpack it'
tar -xf "$archive" -C "$other" --strip-components=1
for library in "$one"/lib/*; do
	unlike "$(readelf -d "$library")" 'R(UN)?PATH' "${library##*/}: looks nowhere else"
	file=$(ldconfig -p | awk -v name="${library##*/}" '$1 == name { print $NF; exit }')
	[ "${library##*/}" != jeprof-ctl ] || file=$(readelf -lW build/program | sed -n 's|.*interpreter: \(.*\)\]|\1|p')
	ok "${library##*/}: as it is installed here" cmp "$file" "$library"
	file=$(realpath "$file")
	package=$({ dpkg -S "$file" || dpkg -S "${file#/usr}"; } 2>/dev/null | sed 's/: .*//')
	ok "${library##*/}: the licence of $package is there" grep -q "^=== package $package, " "$one/LICENSES-OF-LIBRARIES"
done

for package in libc6-dev libiberty-dev libgcc-; do
	ok "what is linked in: the licence of $package is there" grep -q "^=== package $package" "$one/LICENSES-OF-LIBRARIES"
done

# --- who runs it, and from where ---

export MALLOC_CONF=$PROF
LD_LIBRARY_PATH=$T/lib start_redis
load_redis
unset MALLOC_CONF

# maps_of PID: list the files that a process of ours has mapped as code
maps_of()
{
	awk '$2 ~ /x/ && $6 ~ "^/" { sub(/^([^ ]+ +){5}/, ""); print }' "/proc/$1/maps" | sort -u
}

# main_job FOLDER NAME: profile a redis-server with the copy in FOLDER
main_job()
{
	CTL=$1/jeprof-ctl
	ctl_ok "$2: version" --version
	is "$out" "jeprof-ctl $(packaging/version)" "$2: its version"
	rm -f "$T/redis.heap" "$T/redis.pb.gz"
	snapshot "$pid"
	ctl_ok "$2: check" check "$pid"
	ctl_ok "$2: activate" activate "$pid"
	redis EVAL "for i = 1, 3000 do redis.call('set', '$2' .. i, string.rep('x', 300)) end" 0 >/dev/null
	start_watch watched "$pid"
	maps_of "$watcher" >"$T/maps"
	is "$(grep -vF "$1/" "$T/maps")" '' "$2: all code is from the folder"
	like "$(<"$T/maps")" 'libexec/program' "$2: and the program is among it"
	is "$(<"/proc/$watcher/comm")" jeprof-ctl "$2: its name is that of the program"
	ctl_ok "$2: dump" dump "$pid" -o "$T/redis.heap"
	end_watch watched
	is "$(jq -r .source "$T/watched.events")" uprobe "$2: watch has its probes"
	ctl_ok "$2: report" report "$T/redis.heap"
	like "$out" createStringObject "$2: it names functions"
	ctl_ok "$2: convert, by a library that is loaded on demand" convert "$T/redis.heap" "$T/redis.pb.gz"
	serves "$1" "$2"
	ctl_ok "$2: deactivate" deactivate "$pid"
	assert_untouched "$pid" "$2: untouched"
}

# serves FOLDER NAME: the program that speaks HTTP is the one in that folder
serves()
{
	local serve front

	rm -f "$T/http.sock"
	"$CTL" serve --socket "$T/http.sock" >"$T/serve.log" 2>&1 </dev/null &
	serve=$!
	own "$serve"
	within 60 grep -q '^serving on' "$T/serve.log"
	curl -sS --unix-socket "$T/http.sock" "http://localhost/pid/$pid/pprof/heap" >"$T/served.heap"
	ok "$2: serve returns a profile" is_profile "$T/served.heap" || diag "$(<"$T/serve.log")"
	front=$(pgrep -P "$serve" -f libexec/http)
	maps_of "$front" >"$T/maps"
	is "$(grep -vF "$1/" "$T/maps")" '' "$2: all code of the HTTP process is from the folder"
	like "$(<"$T/maps")" 'libmicrohttpd' "$2: and its library is among it"
	end_child "$serve" -TERM
	wait "$serve"
	is "$?" 0 "$2: serve ends"
}
main_job "$one" 'one folder'
main_job "$other" 'another'

# --- through links and by other names ---
mkdir "$T/bin"
ln -s "$other/jeprof-ctl" "$T/bin/jeprof-ctl"
ln -s ../bin/jeprof-ctl "$T/bin/other"
is "$("$T/bin/other" --version)" "jeprof-ctl $(packaging/version)" 'through links'
is "$(cd "$one" && ./jeprof-ctl --version)" "jeprof-ctl $(packaging/version)" 'by a path relative to the current folder'
is "$(cd / && PATH=$T/bin:$PATH && exec -a '' jeprof-ctl --version)" "jeprof-ctl $(packaging/version)" 'without a name'
mv "$one" "$T/moved"
is "$("$T/moved/jeprof-ctl" --version)" "jeprof-ctl $(packaging/version)" 'after it was moved'
mv "$T/moved" "$one"

# --- foreign libraries ---
mkdir "$T/fake"
echo 'int nothing;' | cc -shared -fPIC -x c -o "$T/fake/libelf.so.1" -
like "$(LD_LIBRARY_PATH=$T/fake "$B/jeprof-ctl" --version 2>&1)" "$T/fake/libelf.so.1" \
	'control: a library that LD_LIBRARY_PATH names is loaded'
is "$(cd "$T/fake" && LD_LIBRARY_PATH=$T/fake "$one/jeprof-ctl" --version)" "jeprof-ctl $(packaging/version)" 'not by the copy'

# --- folders that it refuses ---
for folder in "$T/a:b" "$T/a;b" "$T/\$ORIGIN"; do
	cp -r "$one" "$folder"
	said=$("$folder/jeprof-ctl" --version 2>&1)
	is "$? $said" "1 jeprof-ctl: $folder: a folder's name with one of :;\$ cannot be used here" "${folder##*/}: is refused"
	rm -r "$folder"
done
chmod u+s "$one/jeprof-ctl"
said=$(setpriv --reuid 12345 --regid 12345 --clear-groups "$one/jeprof-ctl" --version 2>&1)
is "$?" 1 'with the set-user-ID bit it does not start'
like "$said" "more rights than its caller's" 'the cause is reported'
chmod u-s "$one/jeprof-ctl"
is "$(setpriv --reuid 12345 --regid 12345 --clear-groups "$one/jeprof-ctl" --version)" "jeprof-ctl $(packaging/version)" \
	'control: that user may start it without'
mv "$one/lib/jeprof-ctl" "$one/lib/away"
said=$("$one/jeprof-ctl" --version 2>&1)
is "$? $said" "1 jeprof-ctl: $one/lib/jeprof-ctl: No such file or directory" 'an incomplete folder'
mv "$one/lib/away" "$one/lib/jeprof-ctl"

# --- an empty system ---
mkdir -p "$T/empty/proc" "$T/empty/dev" "$T/empty/run" "$T/empty/somewhere"
cp -r "$other" "$T/empty/somewhere/else"
# shellcheck disable=SC2016 # the inner shell's arguments
nothing=(unshare -m sh -c 'mount --rbind /proc "$1/proc" && mount -t tmpfs none "$1/dev" &&
	mknod -m 666 "$1/dev/null" c 1 3 && exec chroot "$@"' sh "$T/empty")
in_nothing()
{
	"${nothing[@]}" "$@"
}
is "$(find "$T/empty" -type f ! -path '*/somewhere/*')" '' 'a root directory without a file'
snapshot "$pid"
is "$(in_nothing /somewhere/else/jeprof-ctl --version)" "jeprof-ctl $(packaging/version)" 'it runs there'
ok 'activate' in_nothing /somewhere/else/jeprof-ctl activate "$pid"
ok 'dump' in_nothing /somewhere/else/jeprof-ctl dump "$pid" -o /somewhere/redis.heap
ok 'a profile' is_profile "$T/empty/somewhere/redis.heap"
"${nothing[@]}" /somewhere/else/jeprof-ctl serve --socket /somewhere/http.sock >"$T/nothing.log" 2>&1 </dev/null &
serve=$!
own "$serve"
within 60 grep -q '^serving on' "$T/nothing.log"
is "$(curl -sS --unix-socket "$T/empty/somewhere/http.sock" "http://localhost/pid/$pid/pprof/heap" | head -c 8)" heap_v2/ 'serve' ||
	diag "$(<"$T/nothing.log")"
end_child "$serve" -TERM
wait "$serve"
is "$?" 0 'serve ends'
ok 'report' in_nothing /somewhere/else/jeprof-ctl report /somewhere/redis.heap
ok 'deactivate' in_nothing /somewhere/else/jeprof-ctl deactivate "$pid"
assert_untouched "$pid"

done_testing
