# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages of one suite: lintian reports nothing, two builds are identical, and they can
# be installed, upgraded, tested, and removed without a trace. Sourced by tests/matrix/deb-*.t.

test_deb()
{
	local suite=$1

	mkdir "$T/one" "$T/two"
	ok 'packages are built' packaging/build-deb "$suite" "$T/one" || bail_out "no packages for $suite"
	deb=$(echo "$T"/one/jeprof-ctl_*_amd64.deb) serve=$(echo "$T"/one/jeprof-ctl-serve_*_amd64.deb)
	version=$(dpkg-deb -f "$deb" Version)
	is "$version" "$(packaging/version)-1~deb$(sed 's/bookworm/12/;s/trixie/13/' <<<"$suite")u1" 'they have the version of the program'
	test_contents
	test_lintian "$suite"
	test_same_again "$suite"
	root=$(tests/make-try-root "$suite" "$deb" "$serve") || bail_out "there is no root directory of $suite"
	test_installed
	test_autopkgtest
}

# --- contents ---

# paths_in PACKAGE: list its files
paths_in()
{
	dpkg-deb -c "$1" | awk '{ print $6 }' | grep -v '/$'
}

# has_units PACKAGE UNIT...: these units must start the program
has_units()
{
	local package=$1 unit

	shift
	for unit; do
		like "$(dpkg-deb --fsys-tarfile "$package" | tar -xO --wildcards "*/jeprof-ctl-$unit.service")" \
			'ExecStart=/usr/sbin/jeprof-ctl' "the unit $unit names the program"
	done
}

test_contents()
{
	local paths

	paths=$(paths_in "$deb")
	for file in usr/sbin/jeprof-ctl usr/share/man/man8/jeprof-ctl.8.gz jeprof-ctl-guard.service jeprof-ctl-watch.service \
		bash-completion/completions/jeprof-ctl zsh/vendor-completions/_jeprof-ctl vendor_completions.d/jeprof-ctl.fish; do
		like "$paths" "/$file"$'(\n|$)' "it has $file"
	done
	like "$(dpkg-deb -f "$deb" Depends)" 'libarchive13' 'it depends on the library loaded by name'
	has_units "$deb" guard watch
	like "$(echo "$T"/one/*-dbgsym_*.deb)" "/jeprof-ctl-dbgsym_" 'debug symbols exist'
	test_contents_of_serve
}

# The HTTP process and its libraries are in a separate package.
test_contents_of_serve()
{
	local file paths

	unlike "$(dpkg-deb -f "$deb" Depends)" 'microhttpd|gnutls' 'it does not depend on server libraries'
	unlike "$(paths_in "$deb")" 'libexec|serve' 'it contains no files of serve'
	paths=$(paths_in "$serve")
	for file in usr/libexec/jeprof-ctl/http jeprof-ctl-serve.service jeprof-ctl-serve.socket sysusers.d/jeprof-ctl-serve.conf; do
		like "$paths" "/$file"$'(\n|$)' "serve: it has $file"
	done
	like "$(dpkg-deb -f "$serve" Depends)" "jeprof-ctl \\(= ${version//+/\\+}\\).*libmicrohttpd12" 'serve: it depends on the same version'
	has_units "$serve" serve
	like "$(echo "$T"/one/*-dbgsym_*.deb)" "/jeprof-ctl-serve-dbgsym_" 'serve: debug symbols exist'
}

# Informational tags are shown; all others are failures.
test_lintian()
{
	packaging/in-build-root "$1" "$T/one" sh -c 'exec lintian --pedantic -I --tag-display-limit 0 *.changes' >"$T/lintian" 2>&1
	is "$?" 0 'lintian: it runs' || diag "$(<"$T/lintian")"
	is "$(grep '^[EWPI]: ' "$T/lintian")" '' 'lintian reports nothing'
}

# Build again in another folder, with another umask and time zone, and one job at a time.
test_same_again()
{
	(umask 077 && TZ=Asia/Kolkata DEB_BUILD_OPTIONS=parallel=1 BUILD_IN=another-place \
		packaging/build-deb "$1" "$T/two") >"$T/second" 2>&1
	is "$?" 0 'packages are rebuilt elsewhere' || diag "$(tail -n 20 "$T/second")"
	is "$(sums "$T/two")" "$(sums "$T/one")" 'the rebuilt packages and source are identical'
	is "$(sums "$T/one" | wc -l)" 7 'a build has seven files'
}

sums()
{
	(cd "$1" && sha256sum -- *.deb *.tar.xz *.dsc)
}

# --- installed, upgraded, removed ---

# inside COMMAND...: run it in a copy of the root directory, with $T as /mnt
inside()
{
	unshare -m sh -c 'mount -t proc proc "$1/proc" && mount --bind "$2" "$1/mnt" && root=$1 && shift 2 &&
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' \
		sh "$T/root" "$T" "$@"
}

# The same package with a lower version, to upgrade from.
older_package()
{
	dpkg-deb -R "$deb" "$T/older" &&
		sed -i 's/^Version: .*/Version: 0.0.9-1/' "$T/older/DEBIAN/control" &&
		dpkg-deb --root-owner-group -b "$T/older" "$T/older.deb" >"$T/older.log"
}

# All files, except the logs and caches of dpkg and apt, and the group files.
everything()
{
	(cd "$T/root" && find . -xdev \( -path ./mnt -o -path ./proc -o -path ./tmp -o -path ./var/log -o -path ./var/cache/ldconfig \
		-o -path ./var/cache/apt -o -path ./var/lib/apt -o -path ./var/cache/debconf \) -prune -o \
		! -path './var/lib/dpkg/status*' ! -path './var/lib/dpkg/lock*' ! -path './var/lib/dpkg/triggers/Lock' \
		! -path './var/lib/dpkg/available*' ! -path './etc/group*' ! -path './etc/gshadow*' ! -type d -printf '%M %u %g %s %p %l\n' -o \
		-type d -printf '%M %u %g %p\n') | sort -k 4
}

is_enabled()
{
	inside systemctl is-enabled jeprof-ctl-guard.service jeprof-ctl-watch.service 2>&1 | tail -n 2 | paste -sd ' '
}

test_installed()
{
	cp -a "$root" "$T/root"
	inside dpkg-query -W >"$T/packages.before"
	everything >"$T/before"
	cp "$T/root/etc/group" "$T/groups"
	ok 'a package with a lower version is built' older_package
	ok 'it is installed' inside dpkg -i /mnt/older.deb
	is "$(inside dpkg-query -W -f '${db:Status-Status} ${Version}' jeprof-ctl)" 'installed 0.0.9-1' 'the lower version is installed'
	is "$(is_enabled)" 'disabled disabled' 'nothing is enabled'
	like "$(inside jeprof-ctl --version)" "^jeprof-ctl $(packaging/version)\$" 'it runs'

	ok 'it is upgraded' inside dpkg -i "/mnt/one/${deb##*/}"
	is "$(inside dpkg-query -W -f '${db:Status-Status} ${Version}' jeprof-ctl)" "installed $version" 'this version is installed'
	is "$(is_enabled)" 'disabled disabled' 'the upgrade enables nothing'
	is "$(inside dpkg --verify jeprof-ctl)" '' 'all files are as in the package'
	ok 'watch is enabled' inside systemctl enable jeprof-ctl-watch.service
	ok 'it is upgraded again' inside dpkg -i "/mnt/one/${deb##*/}"
	is "$(is_enabled)" 'disabled enabled' 'watch is still enabled'
	test_serve_installed
	# Files that root's runs leave behind are removed, too.
	mkdir -m 700 "$T/root/var/cache/jeprof-ctl" "$T/root/run/jeprof-ctl" "$T/root/var/lib/jeprof-ctl"
	touch "$T/root/var/cache/jeprof-ctl/x.symbols" "$T/root/run/jeprof-ctl/x" "$T/root/var/lib/jeprof-ctl/x"

	install -D "$T/groups" "$T/root/etc/jeprof-ctl/tokens"
	install "$T/groups" "$T/root/etc/jeprof-ctl/rules"

	ok 'the packages are removed' inside dpkg -r jeprof-ctl jeprof-ctl-serve
	ok 'their data is kept until they are purged' test -e "$T/root/var/cache/jeprof-ctl/x.symbols" -a -e "$T/root/etc/jeprof-ctl/tokens"
	ok 'the packages are purged' inside dpkg -P jeprof-ctl jeprof-ctl-serve
	inside dpkg-query -W >"$T/packages.after"
	everything >"$T/after"
	is "$(diff "$T/packages.before" "$T/packages.after")" '' 'no package is left behind'
	is "$(diff "$T/before" "$T/after")" '' 'no file is left behind'
	like "$(diff "$T/groups" "$T/root/etc/group" | grep '^[<>]')" '^> jeprof-ctl:x:[0-9]+:$' 'only the group remains, by Debian policy'
	rm -rf "$T/root"
}

test_serve_installed()
{
	is "$(inside jeprof-ctl serve --socket /mnt/none 2>&1 | grep -c 'cannot find the HTTP front end')" 1 \
		'serve: the missing front end is reported'
	ok 'serve: it is installed' inside dpkg -i "/mnt/one/${serve##*/}"
	is "$(inside systemctl is-enabled jeprof-ctl-serve.socket jeprof-ctl-serve.service 2>&1 | tail -n 2 | paste -sd ' ')" \
		'disabled disabled' 'serve: installation enables nothing'
	is "$(inside dpkg --verify jeprof-ctl-serve)" '' 'serve: all files are as in the package'
	ok 'serve: the group exists' grep -q '^jeprof-ctl:' "$T/root/etc/group"
}

# --- autopkgtest ---

test_autopkgtest()
{
	cp -a "$root" "$T/root"
	# Its dependencies are installed: nothing needs to be fetched.
	rm -f "$T/root/etc/apt/sources.list" "$T"/root/etc/apt/sources.list.d/*
	unshare -m sh -c 'mount --rbind /proc "$1/proc" && mount --bind /dev/pts "$1/dev/pts" && cd "$2" &&
		exec autopkgtest --no-built-binaries --output-dir "$3" ./*_amd64.deb ./*.dsc -- chroot "$1"' \
		sh "$T/root" "$T/one" "$T/autopkgtest" >"$T/autopkgtest.log" 2>&1
	is "$?" 0 'autopkgtest passes' || diag "$(tail -n 60 "$T/autopkgtest.log")"
	is "$(sed -n 's/^smoke *//p' "$T/autopkgtest/summary")" PASS 'its smoke test passes'
	is "$(sed -n 's/^serve *//p' "$T/autopkgtest/summary")" PASS 'its test of serve passes'
	rm -rf "$T/root"
}
