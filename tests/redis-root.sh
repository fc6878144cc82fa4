# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A root directory for a container. Sourced by the tests that start one.

# make_redis_root FOLDER: the smallest root with a redis-server: the program, and the libraries that it needs
make_redis_root()
{
	local library

	mkdir -p "$1"/{usr/bin,etc,tmp,proc,sys,dev,run,var,lib64,srv}
	chmod 1777 "$1/tmp" "$1/srv"
	cp -L "$(command -v redis-server)" "$1/usr/bin/"
	ldd "$1/usr/bin/redis-server" | grep -o '/[^ ]*' | while read -r library; do
		install -D "$(realpath "$library")" "$1$library"
	done
}
