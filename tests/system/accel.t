#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# vagrant/accel: KVM is used only if a guest's kernel boots with it, as the user who will run it.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# --- a cache with the kernel of a box, and a fake qemu that counts its runs ---
box=$(vagrant/make-box bookworm) || bail_out 'there is no box'
mkdir -p "$T/bin" "$T/dev" "$T/vagrant"
cp vagrant/accel vagrant/cache-dir "$T/vagrant/"
tar -xOf "$box" vmlinuz >"$T/vmlinuz"
tar -cf "$T/known.box" -C "$T" vmlinuz
chmod 644 "$T/known.box"
# The real QEMU; one whose guest KVM pauses forever; one whose KVM works.
qemu=$(command -v qemu-system-x86_64) || bail_out 'there is no qemu-system-x86_64'
declare -A does=(
	[real]='exec '"$qemu"' "$@"'
	[paused]='sleep 1000'
	[working]='shift 4; exec '"$qemu"' -accel tcg -cpu qemu64 "$@"' # instead of -accel kvm -cpu host
)

# machine NAME DEVICE QEMU USER: run accel as USER with DEVICE as /dev/kvm; leave its output in
# $said, and the number of guests that it started in $guests
machine()
{
	local name=$1 device=$2 user=$4

	[ -d "$T/$name" ] || install -d -o "$user" "$T/$name" "$T/$name/boxes" "$T/$name/accel"
	ln -f "$T/known.box" "$T/$name/boxes/"
	install -m 666 /dev/null "$T/guests"
	printf '#!/bin/sh\necho started >>"%s"\n%s\n' "$T/guests" "${does[$3]}" >"$T/bin/qemu-system-x86_64"
	chmod 755 "$T/bin/qemu-system-x86_64"
	said=$(unshare -m --propagation private bash -c '
		mount -t tmpfs -o mode=755,dev none "$1" && mknod -m 666 "$1/null" c 1 3 && mknod -m 666 "$1/zero" c 1 5 &&
			mknod -m 666 "$1/random" c 1 8 && mknod -m 666 "$1/urandom" c 1 9 && ln -s /proc/self/fd "$1/fd" || exit 99
		case $2 in
		all) mknod -m 666 "$1/kvm" c 1 3 ;;  # it opens, and runs nothing
		root) mknod -m 600 "$1/kvm" c 1 3 ;;
		none) ;;
		esac
		mount --move "$1" /dev || exit 99
		exec setpriv --reuid="$3" --regid="$(id -g "$3")" --clear-groups env PATH="$4:$PATH" \
			TMPDIR=/tmp JEPROF_CTL_CACHE="$5" "$6" "${@:7}"' bash "$T/dev" "$device" "$user" "$T/bin" \
		"$T/$name" "$T/vagrant/accel" "${@:5}" 2>"$T/accel.err")
	guests=$(wc -l <"$T/guests")
}

# --- nothing to try ---
machine none none working nobody
is "$said $guests" 'tcg 0' 'no /dev/kvm'
machine root root working nobody
is "$said $guests" 'tcg 0' "root's alone, run by another user"
machine root-by-root root working root
is "$said $guests" 'kvm 1' 'control: run by root, KVM is tried'

# --- /dev/kvm can be opened, but runs nothing ---
machine dead all real nobody
is "$said $guests" 'tcg 1' 'it opens, and runs nothing' || diag "$(<"$T/accel.err")"
machine dead all working nobody
is "$said $guests" 'tcg 0' 'the result is kept'

# --- a guest that is paused, and never prints anything ---
machine paused all paused nobody
is "$said $guests" 'tcg 1' 'a guest that is paused'

# --- a kernel boots ---
machine working all working nobody
is "$said $guests" 'kvm 1' 'a kernel boots' || diag "$(<"$T/accel.err")"
machine working all working nobody
is "$said $guests" 'kvm 0' 'the result is kept'
JEPROF_CTL_ACCEL=kvm machine working all working nobody --failed
machine working all working nobody
is "$said $guests" 'tcg 0' 'a machine did not boot: KVM is not tried again'

done_testing
