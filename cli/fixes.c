// SPDX-License-Identifier: Apache-2.0
/* What to do about an error, for people who use the command line. */
#include "cli/fixes.h"

#include <stdio.h>
#include <string.h>

/* Written as the words of base/errors.def are. */
static const char *const words[FIXES] = {
	/* clang-format off */ /* NOLINTBEGIN(bugprone-suspicious-missing-comma) */
	[FIX_NONE] = "",

	/* --- base --- */

	[FIX_OWN_DESCRIPTORS] = "jeprof-ctl itself needs more descriptors: ulimit -n 1024",
	[FIX_SYSTEM_DESCRIPTORS] = "the whole system has no descriptors left: see fs.file-max",
	[FIX_OWN_MEMORY] =
		"jeprof-ctl itself is short of memory or processes: see the limits it runs "
		"under (ulimit -a), and how much its control group has left",
	[FIX_RAISE_STACK_LIMIT] =
		"raise the hard limit too: prlimit --stack=8388608 jeprof-ctl ...",
	[FIX_LIFT_MEMORY_LIMITS] =
		"lift them: prlimit --as=unlimited --data=unlimited jeprof-ctl ...",
	[FIX_RUN_IN_ANOTHER_GROUP] =
		"run it outside of the container, or in a group of its own: "
		"systemd-run --scope jeprof-ctl ...",
	[FIX_RAISE_COMMIT_LIMIT] = "raise vm.overcommit_ratio, add swap space, or end something",

	/* --- process --- */

	[FIX_RUN_AS_ROOT] = "run as root",
	[FIX_RUN_AS_ROOT_OR_OWNER] = "run as root, or as the user the process belongs to",
	[FIX_GIVE_THE_PROCESS] = "give the process: {pid}",
	[FIX_BOOT_WITH_PTRACE] = "boot with kernel.yama.ptrace_scope below 3",
	[FIX_SUDO_OR_PTRACE_SCOPE] =
		"run as root (sudo), or set kernel.yama.ptrace_scope=0 with sysctl(8)",
	[FIX_ADD_CAP_SYS_PTRACE] =
		"add the capability (docker run --cap-add SYS_PTRACE), or run on the host",
	[FIX_ADD_CAP_DAC_READ_SEARCH] =
		"add the capability (docker run --cap-add DAC_READ_SEARCH), or run on the host",
	[FIX_SEE_KERNEL_LOG] = "look for a denial of ptrace in the kernel log (dmesg, audit.log)",
	[FIX_SUDO_OR_USER] = "run as root (sudo) or as uid {uid}",
	[FIX_SUDO] = "run as root (sudo)",
	[FIX_LET_TRACER_DETACH] = "let process {other} detach, then try again",

	/* --- sandbox --- */

	[FIX_CHILD_USED_UP] =
		"nothing was changed; it used up its CPU time, or the kernel killed it for lack "
		"of memory (see dmesg)",
	[FIX_CHILD_LIMITED] =
		"nothing was changed; memory ran out under jeprof-ctl's own limits ({text}), or "
		"its input is damaged or malicious; lift them: prlimit --as=unlimited "
		"--data=unlimited jeprof-ctl ...",
	[FIX_CHILD_CRAMPED] =
		"nothing was changed; memory ran out, as its control group, or "
		"vm.overcommit_memory=2, leaves {size} to each process, or its input is damaged "
		"or malicious; run it where more is left",
	[FIX_CHILD_MISLED] = "nothing was changed; its input may be damaged or malicious",
	[FIX_GIVE_IT_TIME] =
		"its memory or files may not respond, or the machine is overloaded; try a "
		"longer --timeout",
	[FIX_INSTALL_DEBUGINFOD] = "apt-get install libdebuginfod1",
	[FIX_SET_DEBUGINFOD_URLS] =
		"set DEBUGINFOD_URLS to the server of your distribution, see debuginfod-find(1)",

	/* --- io --- */

	[FIX_INSTALL_LIBARCHIVE] =
		"apt-get install libarchive13; if it is installed, jeprof-ctl itself is short "
		"of memory: see its limits (ulimit -a)",
	[FIX_UNPACK_A_HEAP_PROFILE] =
		"profiles compressed by gzip are read as they are; decompress others first",
	[FIX_INSTALL_GRAPHVIZ] =
		"apt-get install graphviz; or write the graph itself, to a file whose name ends "
		"in .dot",
	[FIX_NAME_A_FOLDER] = "name a folder that exists",
	[FIX_CHOOSE_ANOTHER_NAME] = "choose another name",
	[FIX_CHOOSE_OR_FORCE] = "choose another name, or replace it with --force",
	[FIX_MAKE_ROOM] = "make room there, or name another place",
	[FIX_NAME_A_WRITABLE_FOLDER] = "name a folder you may write to",
	[FIX_LONGER_TIMEOUT] = "try a longer --timeout",
	[FIX_RAISE_MAX_SIZE] = "raise the limit: --max-size SIZE (guard: --max-bytes SIZE)",

	/* --- injector --- */

	[FIX_REPORT_AND_RESTART] = "please report this; restart the target when you can",
	[FIX_RAISE_THREAD_LIMITS] =
		"its limits on threads (RLIMIT_NPROC, pids.max) or memory (RLIMIT_AS) are "
		"reached: raise them, or do without a new thread",
	[FIX_RAISE_THAT_LIMIT] = "raise that limit",
	[FIX_RAISE_LIMIT_OR_DO_WITHOUT] = "raise that limit, or do without a new thread",
	[FIX_IN_TARGET] = "let the target write to a folder of its own: --in-target PATH",
	[FIX_GET_SINGLE_VALUES] = "read single values: get PID stats.allocated",
	[FIX_DROP_MODE_THREAD] = "drop --mode thread: short calls can be made in a borrowed thread",
	[FIX_DROP_MODE_INLINE] = "drop --mode inline",
	[FIX_DUMP_IN_TARGET] = "dump --in-target PATH does not need it",
	[FIX_KNOWN_MUSLS] = "jeprof-ctl knows musl 1.1.20 to 1.2.5",
	[FIX_INSTALL_SYMBOLS] = "install its debug symbols (see SYMBOLS in jeprof-ctl(8))",
	[FIX_WITHOUT_SHADOW_STACK] =
		"start the program without one: GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK",
	[FIX_END_TRACER] = "wait until that tracer (a debugger, strace) is done, or end it",
	[FIX_CONTINUE_FIRST] = "continue it first: kill -CONT {pid}",
	[FIX_NO_WAY] = "it cannot be profiled",
	[FIX_NATIVE_ONLY] = "jeprof-ctl can only call into 64-bit programs of its own architecture",
	[FIX_THAW] = "thaw it first: write 0 to its cgroup.freeze, or THAWED to its freezer.state",
	[FIX_LIFT_FSIZE] = "lift it: prlimit --pid {pid} --fsize=unlimited",
	[FIX_ROOT_ON_HOST] = "run jeprof-ctl as root, on the host if this is a container",
	[FIX_END_FILE_SERVER] =
		"find the file (/proc/{pid}/maps), and stop the server of its file system, or "
		"abort its connection (/sys/fs/fuse/connections)",
	[FIX_LIFT_OWN_LIMITS] =
		"memory may have run out under jeprof-ctl's own limits ({text}); lift them: "
		"prlimit --as=unlimited --data=unlimited jeprof-ctl ...",
	[FIX_RETRY_SEE_DMESG] =
		"try again; if the kernel killed it for lack of memory, dmesg shows it",
	[FIX_RETRY_LONGER_BOTH] =
		"try again, on a busy machine with a longer --timeout and --max-pause",
	[FIX_CONTINUE_AND_LOOK] =
		"continue it: kill -CONT {pid}; then check it: jeprof-ctl status {pid}",
	[FIX_LOOK_AT_IT] =
		"check it: jeprof-ctl status {pid}; --timeout and --max-pause give it more time",
	[FIX_RETRY_LONGER_PAUSE] = "try again, on a busy machine with a longer --max-pause",
	[FIX_KNOWN_LIBCS] = "jeprof-ctl knows these two, shared or linked statically",
	[FIX_WAIT_FOR_OTHER] = "wait until it is done, for example with --wait 10s",
	[FIX_DISTRUST] = "do not trust what this process reports",
	[FIX_ANOTHER_TRY_WILL_NOT_HELP] = "trying again will not help",
	[FIX_NO_PROFILE_BEHIND_FILTER] = "it cannot be profiled under this filter",
	[FIX_NOTHING_CALLED_SAFELY] = "no function can be called safely in this target",
	[FIX_RETRY_LONGER] = "try again, or with a longer --timeout",
	[FIX_NOTHING_WAS_CHANGED] = "nothing was changed",
	[FIX_RETRY_OR_DAMAGED] =
		"try again, on a busy machine with a longer --max-pause; if it never works, the "
		"unwind tables of the target are damaged or malicious",
	[FIX_DISTRUST_LIBC] =
		"the C library does not do this: do not trust what this process reports",
	[FIX_NEEDS_CLOSE_RANGE] =
		"this needs Linux 5.9, and permission to call close_range(2); dump --in-target "
		"PATH does not",

	/* --- ops --- */

	[FIX_POKE_NEEDS_RIGHTS] =
		"--mode poke needs CAP_SYS_PTRACE and, for a process of another user, "
		"CAP_DAC_OVERRIDE",
	[FIX_DROP_POKE_TO_QUERY] = "drop --mode poke to query it by a call",
	[FIX_DROP_POKE_FOR_THREADS] = "drop --mode poke to enable each thread by a call",
	[FIX_SYMBOLS_OR_NO_POKE] =
		"install debug symbols of its jemalloc, or do without --mode poke",
	[FIX_POKE] = "--mode poke does it without a call",
	[FIX_FOLDER_OF_ITS_OWN] =
		"let the target write to a folder of its own: dump --in-target PATH",
	[FIX_RAISE_NOFILE_TO] = "raise the limit: prlimit --pid {pid} --nofile={count}:",
	[FIX_LIFT_FSIZE_SOFT] = "lift the limit: prlimit --pid {pid} --fsize=unlimited:",
	[FIX_SUDO_OR_CAP_ADD] = "run as root (sudo), in a container with --cap-add SYS_PTRACE",
	[FIX_RUN_ABOVE_BOTH] = "run in the namespace above both (on the host)",
	[FIX_FSIZE_LIMITED] =
		"the size of its files is limited; lift that: prlimit --pid {pid} "
		"--fsize=unlimited",
	[FIX_NOFILE_LIMITED] =
		"the number of its open files is limited; raise it: prlimit --pid {pid} "
		"--nofile=NUMBER",
	[FIX_IN_TARGET_WITHOUT_FD] =
		"if the target cannot open files under /proc/self/fd, let it write to a folder "
		"of its own with --in-target PATH",
	[FIX_SEE_PREFIX] =
		"the folder of the target's prefix may be missing, full or not writable by it; "
		"see jeprof-ctl prefix, or give --in-target PATH",
	[FIX_NAME_A_PATH_IN_TARGET] =
		"name a path the target may write to, or leave out --in-target",
	[FIX_GIVE_A_PATH] = "give a path: --in-target PATH",
	[FIX_DUMPS_OF_ONE_PROCESS] = "give dumps of one process; diff compares those of two",
	[FIX_COMPARE_SNAPSHOTS] =
		"give one of them; diff shows what grew between two, and leaks over several; "
		"report --sum adds them up anyway",
	[FIX_PASS_ONLY_PROFILES] = "pass only profiles: the program is found from the profile",
	[FIX_REPORT_READS_BUNDLES] =
		"report reads bundles; pprof reads only the formats made for it",
	[FIX_CHECK_OWNER_AND_REMOVE] = "check its owner and remove it",
	[FIX_SET_RUNTIME_DIR] =
		"it is needed to undo a recording; set XDG_RUNTIME_DIR to a folder of yours, "
		"or run this as root",
	[FIX_END_RECORDING] = "wait for it, or end it early: kill -TERM {other}",
	[FIX_KEEP_THE_RATE] = "leave out --sample-rate, or turn sampling off first: jeprof-ctl "
			      "deactivate {pid}",
	[FIX_UNTIL_EXAMPLES] =
		"give one such as rss+500M, rss+10%/min, 'rss>2G' or 'rss>80%' (quote a >, "
		"which the shell would interpret)",
	[FIX_WHEN_EXAMPLES] = "give one such as 'rss>80%', 'cgroup>90%', 'growth>25%/10m', "
			      "'psi>150ms/1s', event:high or 'every 10m' (quoted as here)",
	[FIX_ACTIVATE_BEFORE] = "jeprof-ctl activate {pid}, or give guard --activate",
	[FIX_ACTIONS] = "give dump, record, 'record 1m', sample or 'sample 1m'",
	[FIX_GUARD_BY_SAMPLING] = "sample it instead: --do 'sample 30s'",
	[FIX_UNTIL_RSS] = "use resident memory: --until 'rss>2G'",
	[FIX_MAKE_ROOM_IN_RUN] = "make room on the file system of /run or XDG_RUNTIME_DIR",
	[FIX_SEE_FIRST_PROFILE] = "only the first profile was written: {file}",
	[FIX_SEE_PROFILES] = "see the profiles so far: {file}, and {count} up to {last_file}",
	[FIX_UNDO] = "turn it off: jeprof-ctl undo {pid}",
	[FIX_STATS_TEXT] = "use stats -f text",
	[FIX_STATS_TEXT_SHOWS] = "stats -f text shows what the process wrote",
	[FIX_NAME_A_FOLDER_FOR_UID] =
		"name a folder that uid {uid}, which the target runs as, may write to",
	[FIX_NAME_A_FOLDER_IN_TARGET] = "name a folder that exists where the target runs",
	[FIX_MAKE_ROOM_OR_LIFT_FSIZE] =
		"make room on the disk, or lift the limit on the size of the target's files: "
		"prlimit --pid {pid} --fsize=unlimited",
	[FIX_NAME_ONE_JEMALLOC] =
		"name one by its path or prefix; jeprof-ctl list --json has them all",
	[FIX_GIVE_MORE_DIGITS] = "give more of its digits",
	[FIX_UNSTRIPPED_OR_SYMBOLS] =
		"run a build of the program that was not stripped, or install its debug symbols",
	[FIX_BUILD_WITH_PROF] =
		"build it with a jemalloc that has profiling (--enable-prof): a preloaded "
		"library cannot replace this one",
	[FIX_BUILD_WITH_PROF_RUST] =
		"build it with a jemalloc that has profiling (--enable-prof; in Rust the "
		"feature profiling of tikv-jemallocator): a preloaded library cannot replace "
		"this one",
	[FIX_RUN_WITH_PROF] =
		"run it with a jemalloc built with --enable-prof (Debian's libjemalloc2 on "
		"amd64 is one; LD_PRELOAD can bring it in)",
	[FIX_RESTART_WITH_PROF] =
		"restart it with {conf}=prof:true,prof_active:false in its environment (or with "
		"prof:true alone, to sample from its start)",
	[FIX_OTHER_UNWINDER_OR_FORCE] =
		"use a jemalloc built with libgcc's unwinder or with libunwind "
		"(config.prof_libgcc, config.prof_libunwind); if all code has frame pointers: "
		"activate --force",
	[FIX_SEE_HOW_BUILT_OR_FORCE] =
		"find out how it was built; take the risk with activate --force",
	[FIX_FORCE_OR_LIBUNWIND] =
		"take the risk with activate --force, or use a jemalloc built with "
		"--enable-prof-libunwind",
	[FIX_RECORD_INTERVAL_OR_FORCE] =
		"record --interval makes dumps as memory grows, without that risk; take it "
		"with --force",
	[FIX_DROP_POKE_OR_FORCE] =
		"drop --mode poke to query it by a call; or take the risk with --force",
	[FIX_SEE_ALL_GROUPS] =
		"in a container: share the host's processes (--pid=host, hostPID) and add "
		"CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH, or use the host's cgroup namespace "
		"(--cgroupns=host)",
	[FIX_MOUNT_GROUPS] = "mount control groups here, as on the host (/sys/fs/cgroup)",
	[FIX_ROOM_TO_SAMPLE_OR_FORCE] =
		"raise that limit, or sample less (reset --sample-rate, record --sample-rate); "
		"take the risk with activate --force",
	[FIX_DUMP_IN_TARGET_EACH] = "name the file of each dump: dump PID --in-target PATH",
	[FIX_SEE_MALLCTL_NAMES] = "see MALLCTL NAMESPACE in jemalloc(3) for the names",
	[FIX_ASK_FOR_THE_PROCESS] =
		"use a name that applies to the whole process, such as prof.active",
	[FIX_REQUIRES_VERSION] = "{name} requires jemalloc {text} or later",
	[FIX_USE_DUMP] = "use jeprof-ctl dump PID --in-target PATH",
	[FIX_USE_PREFIX] = "use jeprof-ctl prefix PID PATH",
	[FIX_USE_DEACTIVATE] = "use deactivate to stop sampling",
	[FIX_SEE_CHECK] = "jeprof-ctl check {pid} says what to do",
	[FIX_START_WITH_PREFIX] = "start it with a prof_prefix in a folder that it may write to",
	[FIX_USE_ITS_VARIABLE] = "start it with {conf} instead of {text}",
	[FIX_OF_LINT] = "{text}",
	[FIX_SEE_CONF] = "check --conf STRING shows them all",
	[FIX_START_WITHOUT_INIT_FALSE] = "start the program without prof_thread_active_init:false",
	[FIX_ACTIVATE_ALL] =
		"jeprof-ctl threads --activate all, and start the program without "
		"prof_thread_active_init:false",
	[FIX_SAMPLE_MORE] = "reset --lg-sample {number} samples more, and forgets earlier samples",
	[FIX_SAMPLE_LESS] = "reset --lg-sample {number} samples less, and forgets earlier samples",

	/* --- services, and where else a process may live --- */

	[FIX_NAME_THE_SERVICE] = "name the service",
	[FIX_SEE_SERVICES] =
		"systemctl list-units --type=service lists the services; for services of a "
		"user: systemctl --user edit",
	[FIX_NAME_AN_INSTANCE] = "name an instance of it: NAME@INSTANCE.service",
	[FIX_SET_VARIABLE_AT_START] =
		"set {conf}=prof:true,prof_active:false where the program is started",
	[FIX_UNMASK] = "systemctl unmask {name}",
	[FIX_VERIFY_UNIT] = "systemd-analyze verify {name} says what is wrong",
	[FIX_SETENV_AT_START] = "start it with: systemd-run --setenv={conf}={text} ...",
	[FIX_PRELOAD_IN_UNIT] =
		"have it use one built with --enable-prof (Debian's libjemalloc2 on amd64 is one), "
		"by systemctl edit {name}: Environment=LD_PRELOAD=libjemalloc.so.2",
	[FIX_ENABLE_BY_FORCE] = "--force enables it anyway",
	[FIX_WITH_PROF_TRUE] = "it needs prof:true",
	[FIX_CORRECT_CONF] = "correct that first: jeprof-ctl check --conf says what is wrong",
	[FIX_CORRECT_UNIT] = "remove that from the unit: systemctl edit {name}",
	[FIX_SET_IT_THERE] = "set it there: {conf}={text}",
	[FIX_RENAME_DROP_IN] = "find out what it is for, and rename it",
	[FIX_DISABLE_FIRST] = "jeprof-ctl disable {name}",
	[FIX_SEE_UNIT] =
		"see them all: systemctl cat {name}; jeprof-ctl disable {name} removes ours",
	[FIX_SEE_JOURNAL] = "see why: journalctl -u {name}",
	[FIX_ENABLE_UNIT] = "it runs in {name}: jeprof-ctl enable {name} --restart does so",
	[FIX_EDIT_USER_UNIT] =
		"it runs in a user's {name}: systemctl --user edit {name}, Environment={conf}=..., "
		"systemctl --user restart {name}",
	[FIX_SET_IN_POD] =
		"it runs in a Kubernetes pod: kubectl set env deployment/NAME "
		"{conf}=prof:true,prof_active:false (or env: of its container), which starts "
		"new pods",
	[FIX_RUN_CONTAINER_WITH] =
		"it runs in container {name}, whose environment is fixed: start a new one with "
		"{text} run -e {conf}=prof:true,prof_active:false",
	[FIX_SET_IN_CONTAINER] =
		"it runs in container {name}: set it there, where the program is started",

	/* --- warnings --- */

	[FIX_ACTIVATE_BY_CALL] = "activate without --mode poke makes it true",
	[FIX_ACTIVATE_AGAIN] = "run activate again to retry",
	[FIX_ACTIVATE_THREADS] = "jeprof-ctl threads {pid} --activate all fixes that",
	[FIX_WATCH_THE_SPACE] = "watch the free space there, and turn it off with gdump off",
	[FIX_TAKE_MORE] = "take {number} or more",
	[FIX_TAKE_WHILE_SAMPLING] =
		"take them while profiling is on (activate, record), for longer, or with a smaller "
		"sample rate (reset --sample-rate)",
	[FIX_ACTIVATE] = "start sampling: jeprof-ctl activate {pid}",
	[FIX_ACTIVATE_SETS_IT] = "jeprof-ctl activate {pid} sets it to true",
	[FIX_TRUST_IMAGES] = "--trust-images uses that file anyway",
	[FIX_INSTALL_DBGSYM] =
		"install its debug symbols (Debian: its -dbgsym package, which "
		"find-dbgsym-packages(1) of debian-goodies names)",
	[FIX_INSTALL_DBGSYM_OR_DEBUGINFOD] =
		"install its debug symbols (Debian: its -dbgsym package, which "
		"find-dbgsym-packages(1) of debian-goodies names), or let --debuginfod fetch "
		"them",

	/* --- where memory is --- */

	[FIX_SEE_WHO_ALLOCATED] = "jeprof-ctl record {pid} shows which functions allocate more",
	[FIX_EXPLAIN_MEMORY] = "jeprof-ctl explain {pid} asks it",
	[FIX_DECAY_SOONER] =
		"jeprof-ctl set {pid} arena.4096.purge returns them now; starting it with "
		"MALLOC_CONF=dirty_decay_ms:1000 returns them sooner (TUNING.md of jemalloc)",
	[FIX_DECAY_IN_BACKGROUND] =
		"jeprof-ctl set {pid} arena.4096.purge returns them now; starting it with "
		"MALLOC_CONF=background_thread:true also does so while the program is idle "
		"(TUNING.md of jemalloc)",
	[FIX_NO_MUZZY_PAGES] =
		"jeprof-ctl set {pid} arena.4096.purge returns them now; starting it with "
		"MALLOC_CONF=muzzy_decay_ms:0 always does so (TUNING.md of jemalloc)",
	[FIX_FEWER_ARENAS] =
		"start it with MALLOC_CONF=narenas:4, which may cost speed if many threads "
		"allocate (TUNING.md of jemalloc)",
	[FIX_SMALLER_CACHES] =
		"start it with MALLOC_CONF=lg_tcache_max:13 (opt.lg_tcache_max of jemalloc(3))",
	[FIX_NO_HUGE_PAGES] =
		"start it with MALLOC_CONF=thp:never (opt.thp of jemalloc(3)); see "
		"/sys/kernel/mm/transparent_hugepage/enabled",
	[FIX_PYTHON_MALLOC] =
		"start it with PYTHONMALLOC=malloc: then it comes from malloc(3), and is in the "
		"profile where jemalloc serves that (tracemalloc of Python shows it, too)",
	[FIX_JAVA_MEMORY] =
		"start it with -XX:NativeMemoryTracking=summary, and run jcmd PID "
		"VM.native_memory",
	[FIX_V8_MEMORY] =
		"node --max-old-space-size limits it; a heap snapshot (--heapsnapshot-signal) "
		"shows what holds it",
	[FIX_GO_MEMORY] = "Go's runtime/pprof shows it; GOMEMLIMIT limits it",
	[FIX_DOTNET_MEMORY] = "dotnet-gcdump shows it; DOTNET_GCHeapHardLimit limits it",
	[FIX_RUBY_MEMORY] = "Ruby's GC.stat and ObjectSpace show it",
	[FIX_PHP_MEMORY] =
		"start it with USE_ZEND_ALLOC=0: then it comes from malloc(3), and is in the "
		"profile where jemalloc serves that; memory_limit limits it",
	[FIX_ERLANG_MEMORY] =
		"erlang:memory() shows it; erts_alloc(3) describes the settings of its "
		"allocators",
	[FIX_INNODB_MEMORY] =
		"innodb_buffer_pool_size is its largest part: see SHOW ENGINE INNODB STATUS",
	[FIX_LUAJIT_MEMORY] = "Lua's collectgarbage(\"count\") shows it",

	/* --- jemalloc --- */

	[FIX_INSTALL_ITS_SYMBOLS] =
		"install its debug symbols, in the file system of the process or here",
	[FIX_INSTALL_OR_DEBUGINFOD] =
		"install its debug symbols, in the file system of the process or here, or let "
		"--debuginfod fetch them",
	[FIX_ROOT_WITH_THE_FILE] = "run as root, in the mount namespace that has the file",
	[FIX_BUILD_IN_STATIC] =
		"only a build with jemalloc in it can be profiled: the program is linked "
		"statically, and LD_PRELOAD has no effect on it",
	[FIX_BUILD_IN_PRIVILEGED] =
		"only a build with jemalloc in it can be profiled: the program has more rights "
		"than its user, and LD_PRELOAD has no effect on it",
	[FIX_PRELOAD_JEMALLOC] =
		"start it with LD_PRELOAD=libjemalloc.so.2 "
		"MALLOC_CONF=prof:true,prof_active:false",

	/* --- bpf --- */

	[FIX_SITES_AS_IT_IS] = "to see what allocates, without a restart: jeprof-ctl sites {pid}",
	[FIX_SAMPLE_AS_IT_IS] =
		"or to see what holds memory allocated from now on, without a restart: "
		"jeprof-ctl sample {pid}",
	[FIX_SAMPLE_INSTEAD] = "jeprof-ctl sample {pid} --alloc-space shows what is allocated, too",
	[FIX_RECORD_INSTEAD] = "if opt.prof is true, jeprof-ctl record {pid} shows what is held",
	[FIX_ALLOW_OVERHEAD] =
		"allow more (--max-overhead {count})",
	[FIX_READ_USDT] = "jeprof-ctl sample {pid} reads them, as does any reader of USDT probes",
	[FIX_SAMPLE_BY_HOOKS] = "--image {name} samples its jemalloc by hooks instead",
	[FIX_SAMPLE_FOR_LONGER] = "sample for longer (-d 1m)",
	[FIX_SAMPLE_LONGER_OR_OFTENER] =
		"sample for longer (-d 1m), or more often (--sample-rate 64K)",
	[FIX_BUILD_WITH_BPF] = "install libbpf-dev, clang and bpftool, and build it again",
	[FIX_ROOT_OUTSIDE_USER_NAMESPACE] =
		"run it as root on the host, or in a container without a user namespace of its "
		"own",
	[FIX_ROOT_OR_CAP_SYS_ADMIN] =
		"run it as root, or with CAP_SYS_ADMIN, which includes them all, and "
		"CAP_SYS_PTRACE (in a container: --privileged --pid=host)",
	[FIX_LOCKDOWN_INTEGRITY] = "start the kernel with lockdown=integrity, or without lockdown",
	[FIX_MOUNT_TRACEFS] =
		"mount -t tracefs tracefs {path} (in a container: bind-mount the host's)",
	[FIX_KERNEL_WITH_SYSCALL_TRACING] = "run a kernel built with CONFIG_FTRACE_SYSCALLS=y",
	[FIX_UNCONFINED_SECCOMP] =
		"in a container: --privileged, or --security-opt seccomp=unconfined",
	[FIX_UNLIMITED_MEMLOCK] = "ulimit -l unlimited",
	[FIX_KERNEL_WITH_BTF] =
		"run a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distribution kernels are, "
		"and mount /sys",
	[FIX_KERNEL_WITH_UPROBES] =
		"run a kernel built with CONFIG_UPROBE_EVENTS=y, and mount /sys",
	[FIX_RAISE_OWN_NOFILE] = "ulimit -n 4096",
	[FIX_KERNEL_WITH_BPF] = "run a kernel built with CONFIG_BPF_SYSCALL=y",
	[FIX_KERNEL_5_10] = "watch needs Linux 5.10 or later",

	/* --- profile --- */

	[FIX_THREADS_OF_PROFILE] =
		"its threads are {text}: jemalloc's own numbers, which are not thread ids, and "
		"names if the program sets them (thread.prof.name, prof_sys_thread_name)",
	[FIX_SHOW_ALLOCATORS] =
		"functions that allocate for their callers are folded into these: --no-fold shows "
		"them",
	[FIX_AVAILABLE_FORMATS] = "available formats: {text}",
	[FIX_LEAVE_OUT_WHAT_SHRANK] =
		"leave out what shrank: report --base BEFORE --drop-negative -f raw AFTER",
	[FIX_COMBINE_ALIKE] =
		"give only dumps, or only profiles from sites: they count different things",
	[FIX_SHOW_ALLOC_SPACE] =
		"leave that option out: it has --alloc-space alone; jeprof-ctl dump also counts "
		"objects, and what is in use",
	[FIX_TAKE_DUMPS] = "give dumps of the process, from jeprof-ctl dump or record --interval",

	/* --- cli --- */

	[FIX_SEE_COMMAND_HELP] = "see jeprof-ctl {command} --help",
	[FIX_SEE_HELP] = "see jeprof-ctl --help",
	[FIX_DID_YOU_MEAN] = "did you mean {command}?",
	[FIX_NAME_ONE_BY_PID] = "name one of them by its pid",
	[FIX_SEE_LIST] = "jeprof-ctl list shows the processes that use jemalloc",
	[FIX_NAME_A_FOLDER_FOR_ALL] = "name a folder, such as -o profiles/",
	[FIX_SAVE_TO_FOLDER] = "name a folder, such as --save profiles/",
	[FIX_LEAVE_OUT_THE_PATH] = "leave the path out: each then writes by its own prefix",
	[FIX_NARROW_IT_DOWN] = "name fewer with --comm, --cgroup, --children, or by their pids",
	[FIX_NAME_THE_FILE] = "./{number} means the file",
	[FIX_GIVE_A_PROCESS] =
		"jeprof-ctl {command} {text}; jeprof-ctl list shows the processes that use "
		"jemalloc",
	[FIX_WRITE_TO_FILE] = "write it to a file with -o FILE",
	[FIX_WRITE_PROFILE_TO_FILE] = "write the profile to a file with -o FILE",
	[FIX_CHOOSE_SHELL] = "choose bash, zsh or fish",
	[FIX_NAME_A_SUFFIX] = "use a name that ends in one of: {text}; or give a format with -f",
	[FIX_NAME_THE_LAST_FILE] = "name the last of them with -o FILE",
	[FIX_RECORD_FOR_LONGER] = "record for longer, such as -d 10m --interval 1m",
	[FIX_USE_A_POWER] = "use a power of two, such as 512K",
	[FIX_CONVERT_A_PROFILE] =
		"leave it out, and convert a profile: jeprof-ctl convert FILE.heap FILE.raw",
	[FIX_SAY_YES] = "--yes does it without asking, --dry-run only shows it",
	[FIX_PROF_ACCUM] = "start the program with prof_accum:true in MALLOC_CONF",

	/* --- serve --- */

	[FIX_INSTALL_FRONT] = "build it with make, or install the package jeprof-ctl-serve",
	[FIX_CHMOD_CONFIG] = "chown root {path}; chmod 600 {path}",
	[FIX_MAKE_TOKEN] = "make one: jeprof-ctl serve --token-file {path} --new-token ROLE",
	[FIX_GIVE_TOKENS] =
		"make one, and name its file: jeprof-ctl serve --token-file FILE --new-token ROLE "
		"(or --client-ca FILE, with --tls-cert)",
	[FIX_LISTEN_ON_LOOPBACK] =
		"--tls-cert FILE --tls-key FILE; or --listen 127.0.0.1:PORT, which ssh -L can "
		"forward",
	[FIX_GIVE_RUNS] = "--runs FOLDER to use another folder, --runs none to keep nothing",
	[FIX_STOP_RUN] = "wait until it ends, or POST /api/v1/runs/{number}/stop",
	[FIX_LEAVE_RULE_OPTION] =
		"leave it out: --runs, --keep and --max-bytes of serve set what is kept, and a "
		"rule is active as long as serve runs",
	[FIX_WRITE_A_RULE] = "for example: engine: --comm engine --when 'rss>80%'",
	[FIX_CHMOD_PEM] = "chown root {path}; chmod go-w {path}",
	[FIX_CHMOD_KEY] = "chmod o-r {path}",
	/* NOLINTEND(bugprone-suspicious-missing-comma) */ /* clang-format on */
};

const char *fix_text(const struct err *err, char *buf, size_t size)
{
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < ERR_FIXES && err->fixes[i] && used + 3 < size; i++) {
		if (i)
			used += (size_t)snprintf(buf + used, size - used, "; ");
		err_fill(err, words[err->fixes[i]], buf + used, size - used);
		used += strlen(buf + used);
	}
	return buf;
}
