#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Describe this machine, for the head of its column in the table.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

package_version()
{
	dpkg-query -W -f '${Version}' "$1"
}

fact debian "$(. /etc/os-release && echo "${VERSION_CODENAME:-sid}")"
fact kernel "$(uname -r)"
fact glibc "$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)"
fact jemalloc "$(package_version libjemalloc2)"
fact systemd "$(package_version systemd)"
fact redis "$(package_version redis-server)"

is "$(id -u)" 0 'the tests run as root'
ok 'systemd runs this machine' test -d /run/systemd/system
ok 'it has Yama' test -r /proc/sys/kernel/yama/ptrace_scope
ok 'it can be locked down' grep -qF '[none]' /sys/kernel/security/lockdown
ok 'the kernel has type information' test -r /sys/kernel/btf/vmlinux
ctl_ok 'the program runs' version

done_testing
