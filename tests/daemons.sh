# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Debian daemons that use jemalloc, in minimal configurations on loopback. Each function sets
# `pid`, the process to work on, and `port`. Sourced after tests/lib.sh.

preload=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" && /x86-64/ { print $NF; exit }')

# http PORT: succeed on any response
http()
{
	python3 - "$1" <<'END'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
s.settimeout(5)
s.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
sys.exit(0 if s.recv(12).startswith(b"HTTP/1") else 1)
END
}

# dns PORT [QUESTION]: send a query in hex over TCP, by default for version.bind
dns()
{
	python3 - "$1" "${2:-001c1234000000010000000000000776657273696f6e0462696e640000100003}" <<'END'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
s.settimeout(5)
s.sendall(bytes.fromhex(sys.argv[2]))
sys.exit(0 if len(s.recv(100)) > 12 else 1)
END
}

# The address of "localhost", which a resolver knows without further queries.
dns_localhost()
{
	dns "$1" 001b123401000001000000000000096c6f63616c686f73740000010001
}

# profile_working NAME COMMAND...: activate, dump and deactivate `pid` while COMMAND keeps it busy
profile_working()
{
	local name=$1 file=$T/$1.heap

	shift
	ctl_ok "$name: activate" activate "$pid" --json
	is "$(json .changed)" true "$name: changed"
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		"$@" >/dev/null 2>&1
	done
	ctl_ok "$name: dump" dump "$pid" -o "$file"
	ok "$name: a profile" is_profile "$file"
	ctl_ok "$name: deactivate" deactivate "$pid" --json
	is "$(json .changed)" true "$name: changed back"
	ok "$name: still answers" within 60 "$@"
}

start_named()
{
	local config=$T/named.conf

	port=$(free_port)
	mkdir "$T/named"
	cat >"$config" <<END
options {
	directory "$T/named";
	listen-on port $port { 127.0.0.1; };
	listen-on-v6 { none; };
	pid-file none;
	session-keyfile none;
	managed-keys-directory "$T/named";
	recursion no;
	dnssec-validation no;
};
controls { };
END
	named -g -n 2 -c "$config" >"$T/named.log" 2>&1 &
	pid=$!
	own "$pid"
	within 60 dns "$port" || bail_out "named did not start: $(tail -n 5 "$T/named.log")"
}

# The worker is a child of the process started here.
start_nghttpx()
{
	local backend child

	read -r port backend < <(free_port 2)
	nghttpx --frontend="127.0.0.1,$port;no-tls" --backend="127.0.0.1,$backend" --conf=/dev/null \
		--workers=2 --pid-file="$T/nghttpx.pid" --accesslog-file=/dev/null \
		--errorlog-file="$T/nghttpx.log" </dev/null >"$T/nghttpx.out" 2>&1 &
	pid=$!
	own "$pid"
	within 60 http "$port" || bail_out "nghttpx did not start: $(cat "$T/nghttpx.out" "$T/nghttpx.log")"
	child=$(pgrep -P "$pid" | head -n 1)
	pid=${child:-$pid}
}

# Sets `pid`, a worker with LD_PRELOAD, and `manager`, its parent.
start_nginx()
{
	port=$(free_port)
	mkdir "$T/nginx"
	cat >"$T/nginx/conf" <<END
pid $T/nginx/pid;
worker_processes 1;
user root;
error_log $T/nginx/log;
events { }
http {
	access_log off;
	client_body_temp_path $T/nginx/body;
	proxy_temp_path $T/nginx/proxy;
	fastcgi_temp_path $T/nginx/fastcgi;
	uwsgi_temp_path $T/nginx/uwsgi;
	scgi_temp_path $T/nginx/scgi;
	server { listen 127.0.0.1:$port; return 200 "hello\n"; }
}
END
	LD_PRELOAD=$preload nginx -c "$T/nginx/conf" -g 'daemon off;' >"$T/nginx/out" 2>&1 </dev/null &
	manager=$!
	own "$manager"
	within 60 http "$port" || bail_out "nginx did not start: $(cat "$T/nginx/out" "$T/nginx/log")"
	pid=$(pgrep -P "$manager" | head -n 1)
}

# The server is the child of a manager.
start_varnishd()
{
	local backend

	read -r port backend < <(free_port 2)
	varnishd -F -n "$T/varnish" -a "127.0.0.1:$port" -b "127.0.0.1:$backend" -s default,16m \
		-p thread_pools=1 -p thread_pool_min=10 -p thread_pool_max=10 -T none -j none \
		>"$T/varnish.log" 2>&1 </dev/null &
	manager=$!
	own "$manager"
	within 60 http "$port" || bail_out "varnishd did not start: $(tail -n 5 "$T/varnish.log")"
	pid=$(pgrep -P "$manager" | head -n 1)
}

start_kresd()
{
	port=$(free_port)
	mkdir "$T/kresd"
	printf '%s\n' "net.listen('127.0.0.1', $port, { kind = 'dns' })" \
		"modules = { 'policy', 'hints' }" "trust_anchors.remove('.')" >"$T/kresd.conf"
	# These modules would send queries by themselves.
	printf "modules.unload('%s')\\n" ta_update ta_signal_query ta_sentinel priming \
		detect_time_skew detect_time_jump >>"$T/kresd.conf"
	kresd -n -q -c "$T/kresd.conf" "$T/kresd" >"$T/kresd.log" 2>&1 </dev/null &
	pid=$!
	own "$pid"
	within 60 dns_localhost "$port" || bail_out "kresd did not start: $(tail -n 5 "$T/kresd.log")"
}
