# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Makes this look like a machine booted with systemd, for enable and disable: systemctl is
# tests/drivers/systemctl, and /etc/systemd/system and /run/systemd are private to the test. Sourced
# by the tests that need it.

systemd=$T/systemd
mkdir -p "$systemd"/{units,read,start,pid} /run/systemd
mount -t tmpfs -o mode=755 none /etc/systemd/system && mounted+=(/etc/systemd/system)
mount -t tmpfs -o mode=755 none /run/systemd && mounted+=(/run/systemd)
install -m 755 tests/drivers/systemctl "$systemd/"
PATH=$systemd:$PATH
: >"$systemd/calls"
cat >"$systemd/manager" <<-'END'
	Version=252.39-1~deb12u2
	Environment=LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "BAR=a \"b\" \$c \\d" FOO=bar
END

# unit NAME [PROPERTY=VALUE...]: create a loaded unit that is not running, except for these
# properties
unit()
{
	local name=$1 setting

	shift
	cat >"$systemd/units/$name" <<-END
		MainPID=0
		ControlGroup=
		Environment=
		UnsetEnvironment=
		Id=$name
		LoadState=loaded
		ActiveState=inactive
		NeedDaemonReload=no
		LoadError=
		Transient=no
	END
	for setting; do
		case $setting in
		EnvironmentFiles=*) echo "$setting" >>"$systemd/units/$name" ;;
		*) awk -v setting="$setting" -v key="${setting%%=*}=" 'index($0, key) == 1 { $0 = setting } { print }' \
			"$systemd/units/$name" >"$T/unit" && cp "$T/unit" "$systemd/units/$name" ;;
		esac
	done
}
unit nosuch.service LoadState=not-found \
	'LoadError=org.freedesktop.systemd1.NoSuchUnit "Unit nosuch.service not found."'

# runs UNIT: make the last victim its main process
runs()
{
	echo "$pid" >"$systemd/pid/$1"
}

# calls: print the calls of systemctl since the last time, except queries
calls()
{
	grep -v '^show' "$systemd/calls" | paste -sd ' '
	: >"$systemd/calls"
}

# drop_in UNIT [FOLDER]: print the path of its drop-in
drop_in()
{
	echo "${2:-/etc}/systemd/system/$1.d/zz-jeprof-ctl.conf"
}
