# SPDX-License-Identifier: Apache-2.0
# A single Makefile, recursive only for variants of itself: `make B=DIR SAN=1` builds the
# same targets under DIR with clang's sanitizers, and what is fuzzed.

B ?= build
PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
LIBEXECDIR ?= $(PREFIX)/libexec
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/jeprof-ctl
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d

CC ?= cc
CLANG ?= clang
PKG_CONFIG ?= pkg-config

LAYERS := $(wildcard base arch sandbox process elf jemalloc sampler injector bpf profile io symbols ops api wire serve cli)
PKGS := libelf libdw liblzma json-c libunwind-generic libcap-ng libseccomp libprotobuf-c zlib libpcre2-8 nettle
# Only the headers are used: these are loaded at run time, by the names in LOADED.
HEADERS := libarchive
LOADED := libarchive.so.13
ARCH := $(shell uname -m)

# `watch` needs all of these to build; HAVE_BPF=0 builds without it.
BPFTOOL ?= $(shell PATH=$$PATH:/usr/sbin:/sbin command -v bpftool)
HAVE_BPF ?= $(if $(BPFTOOL),$(shell $(PKG_CONFIG) --exists libbpf && command -v $(CLANG)),0)
ifneq ($(filter-out 0,$(HAVE_BPF)),)
PKGS += libbpf
NOT_BUILT := bpf/absent.c bpf/%.bpf.c sampler/target.c
else
NOT_BUILT := bpf/heap.c bpf/origin.c bpf/sites.c bpf/watch.c bpf/why.c bpf/%.bpf.c sampler/target.c
endif

# Code for a processor is in arch/ and X/arch/: only that for this machine is compiled.
FOLDERS := $(shell find $(LAYERS) -type d)
ARCHS := $(filter arch %/arch,$(FOLDERS))
SRC := $(filter-out $(NOT_BUILT),$(foreach d,$(filter-out $(ARCHS),$(FOLDERS)),$(wildcard $(d)/*.c))) \
	$(wildcard $(ARCHS:%=%/$(ARCH).c))
ifeq ($(wildcard arch/$(ARCH).mk),)
$(error it is not ported to $(ARCH): ARCHITECTURE.md, "Other processors", says what that takes)
endif
include arch/$(ARCH).mk
EMBEDDED := $(B)/gen/web/page.o $(B)/gen/web/svg.o $(B)/gen/sampler/target.o
OBJ := $(SRC:%.c=$(B)/%.o) $(B)/gen/profile/format/pprof.pb-c.o $(EMBEDDED)
BIN := $(B)/jeprof-ctl
# The part of `serve` that speaks HTTP is a separate program: nothing else is linked to a server library.
FRONT_PKGS := libmicrohttpd gnutls nettle
FRONT_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard front/*.c)) $(B)/gen/web/serve.o
FRONT := $(B)/libexec/jeprof-ctl/http
TESTED := $(filter-out $(B)/cli/main.o,$(OBJ)) $(filter-out $(B)/front/main.o,$(FRONT_OBJ))

UNIT := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
C_FILES := $(foreach d,$(FOLDERS) front tests/unit tests/target tests/careless tests/fuzz bench packaging,$(wildcard $(d)/*.[ch]))

OPT ?= -O2 -g
ifdef SAN
BUILD_CC := $(CLANG)
# lld needs half the time, but its own build ids are of 8 bytes.
LDFLAGS += -fuse-ld=lld -Wl,--build-id=sha1
# Clang before 19 does not define the macro, and dwz cannot read its version 5 of DWARF. gcc gives the
# other warnings.
OPT := -O1 -g1 -gdwarf-4 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=undefined -D__SANITIZE_ADDRESS__=1 \
	-Wno-missing-field-initializers -Wno-unknown-attributes
else
BUILD_CC := $(CC)
OPT += -D_FORTIFY_SOURCE=3 -fstack-clash-protection $(ARCH_CFLAGS)
endif

WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wformat=2 -Wundef -Wpointer-arith -Wwrite-strings -Werror
# "-D_GNU_SOURCE=" does not conflict with a file's own "#define _GNU_SOURCE".
ARCH_FLAGS := -DARCH_HEADER='"$(ARCH).h"'
CPPFLAGS += -I. -I$(B)/gen -D_GNU_SOURCE= $(ARCH_FLAGS) -MMD -MP
CFLAGS += -std=gnu17 $(WARNINGS) $(OPT) -fstack-protector-strong
LDFLAGS += -Wl,-z,relro,-z,now

# Compilation needs these; the goals below do not.
ifneq ($(filter-out help deps deps-build deps-deb deps-vm deps-image image deb clean check check-asan coverage check-long check-matrix check-system check-all check-vm check-vm-all vm demo asan lint format,$(or $(MAKECMDGOALS),all)),)
# Debian's libiberty-dev and the package of ARCH_HEADERS have no pkg-config file.
ifneq ($(shell { $(PKG_CONFIG) --exists $(PKGS) $(FRONT_PKGS) $(HEADERS) && $(CC) -E $(ARCH_HEADERS:%=-include %) \
	-include libiberty/demangle.h -x c /dev/null; } >/dev/null 2>&1 && echo yes),yes)
$(error a library is missing (one of: $(PKGS) $(FRONT_PKGS) $(HEADERS) $(ARCH_HEADERS) libiberty): run "make deps" as root)
endif
CPPFLAGS += $(shell $(PKG_CONFIG) --cflags $(PKGS) $(HEADERS))
LDLIBS += $(shell $(PKG_CONFIG) --libs $(PKGS)) $(ARCH_LIBS) -liberty -lm
FRONT_LIBS := $(shell $(PKG_CONFIG) --libs $(FRONT_PKGS) libseccomp libcap-ng json-c)
endif

ifdef V
Q :=
say = @:
else
Q := @
say = @printf '  %-6s %s\n'
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all portable tarball image deb deps-deb demo generated check check-built check-unit check-asan coverage check-long check-matrix \
	check-system check-all check-fuzz build-fuzz check-vm check-vm-all vm deps-vm deps-image lint format asan bench screenshots fuzz install uninstall clean deps deps-build victims vm-programs help

all: $(BIN) $(FRONT) ## build build/jeprof-ctl

$(BIN): $(OBJ)
	$(say) LD $@
	$(Q)$(BUILD_CC) $(CFLAGS) $(LDFLAGS) -o $@ $(OBJ) $(LDLIBS)

$(FRONT): $(FRONT_OBJ) $(B)/tested.a
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(BUILD_CC) $(CFLAGS) $(LDFLAGS) -o $@ $(FRONT_OBJ) $(B)/tested.a $(FRONT_LIBS)

# The program with its libraries and their loader, which a program names by its full path: it runs
# from the folder $(PORTABLE), regardless of the machine's C library.
PORTABLE ?= /opt/jeprof-ctl
portable: $(B)/portable/jeprof-ctl ## build/portable/: copy it to /opt/jeprof-ctl on any machine
portable_ld = loader=$$(readelf -lW $(BIN) | sed -n 's|.*interpreter: .*/\(.*\)\]|\1|p') && \
	$(CC) $(CFLAGS) $(LDFLAGS) -s -Wl,--disable-new-dtags,-rpath,$(PORTABLE)/lib \
	"-Wl,--dynamic-linker=$(PORTABLE)/lib/$$loader"
$(B)/portable/jeprof-ctl: $(BIN) $(FRONT) Makefile
	$(say) LD $@
	$(Q)rm -rf $(@D) && mkdir -p $(@D)/lib $(@D)/libexec/jeprof-ctl
	$(Q)packaging/libraries "$$($(CC) -print-file-name=$(LOADED))" $(BIN) $(FRONT) | xargs cp -L -t $(@D)/lib
	$(Q)$(portable_ld) -o $(@D)/libexec/jeprof-ctl/http $(FRONT_OBJ) $(B)/tested.a $(FRONT_LIBS)
	$(Q)$(portable_ld) -o $@ $(OBJ) $(LDLIBS)

# The same for any folder: statically linked starters name the loader and the libraries.
tarball: $(B)/starter $(B)/http-starter $(B)/program $(B)/http ## build/jeprof-ctl-VERSION-linux-ARCH.tar.gz: runs from any folder of any machine
	$(Q)CC="$(CC)" packaging/make-tarball $(B) $(ARCH) "$$($(CC) -print-file-name=$(LOADED))"
$(B)/http-starter: STARTER_FLAGS := -DPROGRAM='"libexec/http"' -DFOLDERS=2
$(B)/starter $(B)/http-starter: packaging/starter.c Makefile
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) $(STARTER_FLAGS) -static -s -o $@ $<
# Without paths of the build folder.
$(B)/program: $(OBJ)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -s -o $@ $(OBJ) $(LDLIBS)
$(B)/http: $(FRONT_OBJ) $(B)/tested.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -s -o $@ $(FRONT_OBJ) $(B)/tested.a $(FRONT_LIBS)

image: deps-image ## build/jeprof-ctl-VERSION-linux-ARCH.oci.tar: the same as an image for containers (root)
	$(Q)$(MAKE) --no-print-directory tarball
	$(Q)packaging/build-image $(B) $(ARCH)

# The BPF program, and the C code that loads it.
$(B)/%.bpf.o: %.bpf.c $(wildcard bpf/*.h bpf/arch/*.h) Makefile
	$(say) CLANG $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -D__TARGET_ARCH_$(BPF_ARCH) $(ARCH_FLAGS) -I. \
		-idirafter /usr/include/$(shell $(CC) -print-multiarch) -O2 -g -ffile-prefix-map=$(CURDIR)=. \
		-Wall -Wextra -Wno-unused-parameter -Werror -c -o $@ $<

BPF_SKELETONS := $(patsubst bpf/%.bpf.c,$(B)/gen/bpf/%.skel.h,$(wildcard bpf/*.bpf.c))
.SECONDARY: $(patsubst %.c,$(B)/%.o,$(wildcard bpf/*.bpf.c))
$(B)/gen/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	$(say) GEN $@
	$(Q)mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@

# A system header, as its warnings are bpftool's to fix.
BPF_LOADERS := $(patsubst bpf/%.bpf.c,$(B)/bpf/%.o,$(wildcard bpf/*.bpf.c))
$(BPF_LOADERS): $(BPF_SKELETONS)
$(BPF_LOADERS): CPPFLAGS += -isystem $(B)/gen

$(B)/%.o: %.c Makefile
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(BUILD_CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# The messages of pprof's format, in C.
GENERATED := $(B)/gen/profile/format/pprof.pb-c.h $(B)/gen/sampler/offsets.h $(if $(filter-out 0,$(HAVE_BPF)),$(BPF_SKELETONS))
$(OBJ): | $(GENERATED)
generated: $(GENERATED)
$(B)/gen/profile/format/pprof.pb-c.h: profile/format/pprof.proto Makefile
	$(say) PROTO $@
	$(Q)mkdir -p $(@D)
	$(Q)protoc-c -I profile/format --c_out=$(@D) $<
$(B)/gen/profile/format/pprof.pb-c.o: $(B)/gen/profile/format/pprof.pb-c.h
	$(say) CC $(@:.o=.c)
	$(Q)$(BUILD_CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $(@:.o=.c)

# The page of `report -f html`: assembled from web/, and embedded.
WEB := $(wildcard web/* web/serve/*)
$(B)/gen/web/page.html: $(WEB) Makefile
	$(say) PAGE $@
	$(Q)mkdir -p $(@D)
	$(Q)web/assemble >$@
$(B)/gen/web/page.o: $(B)/gen/web/page.html
	$(say) LD $@
	$(Q)cd $(@D) && $(CC) -r -nostdlib -Wl,-z,noexecstack -Wl,--format=binary -o page.o page.html

# The script of `report -f svg`.
$(B)/gen/web/svg.js: $(WEB) Makefile
	$(say) PAGE $@
	$(Q)mkdir -p $(@D)
	$(Q)web/assemble svg >$@
$(B)/gen/web/svg.o: $(B)/gen/web/svg.js
	$(say) LD $@
	$(Q)cd $(@D) && $(CC) -r -nostdlib -Wl,-z,noexecstack -Wl,--format=binary -o svg.o svg.js

# The page of `serve`, and its policy.
$(B)/gen/web/serve.html: $(WEB) Makefile
	$(say) PAGE $@
	$(Q)mkdir -p $(@D)
	$(Q)web/assemble serve >$@
$(B)/gen/web/serve.csp: $(WEB) Makefile
	$(Q)mkdir -p $(@D)
	$(Q)web/assemble policy >$@
$(B)/gen/web/serve.o: $(B)/gen/web/serve.html $(B)/gen/web/serve.csp
	$(say) LD $@
	$(Q)cd $(@D) && $(CC) -r -nostdlib -Wl,-z,noexecstack -Wl,--format=binary -o serve.o serve.html serve.csp

# The code mapped into targets: a separate image without a C library, and the offsets in it.
# It must be the same even with the sanitizers. Frame pointers are for other readers of its probes.
SAMPLER_FLAGS := -std=gnu17 -O2 $(WARNINGS) -I. $(ARCH_FLAGS) -ffreestanding -fPIC -fvisibility=hidden \
	-fno-stack-protector -fno-tree-loop-distribute-patterns -fasynchronous-unwind-tables \
	-fno-omit-frame-pointer -fno-optimize-sibling-calls $(SAMPLER_ARCH_FLAGS)
$(B)/gen/sampler/target.so: sampler/target.c sampler/target.lds $(wildcard sampler/*.h sampler/arch/*.h) Makefile
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SAMPLER_FLAGS) -c -o $@.o $<
	$(Q)$(LD) -shared -T sampler/target.lds --build-id=sha1 --eh-frame-hdr -z noexecstack \
		-z max-page-size=4096 -o $@ $@.o
$(B)/gen/sampler/target.o: $(B)/gen/sampler/target.so
	$(say) LD $@
	$(Q)cd $(@D) && $(CC) -r -nostdlib -Wl,-z,noexecstack -Wl,--format=binary -o target.o target.so
$(B)/gen/sampler/offsets.h: $(B)/gen/sampler/target.so
	$(say) GEN $@
	$(Q)nm $< | awk '$$3 ~ /^sampler_[a-z_]+$$/ { print "#define OFFSET_OF_" $$3 " 0x" $$1 }' >$@

# An archive, so that a unit test links only the objects that it needs.
$(B)/tested.a: $(TESTED)
	$(say) AR $@
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(TESTED)

$(B)/tests/unit/%: tests/unit/%.c $(B)/tested.a
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(BUILD_CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -MF $@.d -MT $@ -o $@ $< $(B)/tested.a $(LDLIBS) \
		$(FRONT_LIBS) -lcmocka

# The test replaces its control groups.
$(B)/tests/unit/test_limit: private LDFLAGS += $(foreach f,cgroup_each cgroup_number cgroup_keyed,-Wl,--wrap=$(f))
$(B)/tests/unit/test_cgroup: private LDFLAGS += $(foreach f,proc_cgroup hierarchies_here,-Wl,--wrap=$(f))

# It also replaces the groups of processes, and the machine.
$(B)/tests/unit/test_group: private LDFLAGS += $(foreach f,cgroup_each limit_of_machine open write,-Wl,--wrap=$(f))

# A system call fails.
$(B)/tests/unit/test_confined: private LDFLAGS += -Wl,--wrap=poll

# The test replaces its clocks, and what the kernel reports of a thread.
$(B)/tests/unit/test_wait_clock: private LDFLAGS += $(foreach f,now_us procfs_read_into \
	proc_thread_status proc_thread_status_read proc_thread_syscall mem_read mem_write,-Wl,--wrap=$(f))
$(B)/tests/unit/test_end_guard: private LDFLAGS += $(foreach f,now_ms proc_threads procfs_read_into \
	proc_thread_status proc_thread_syscall,-Wl,--wrap=$(f))

include tests/target/victims.mk
include tests/target/hazards.mk
include tests/target/fences.mk
include tests/target/matrix.mk
include tests/target/received.mk
include tests/target/front.mk
include tests/target/vm.mk

demo: ## the main job, on its own redis-server
	$(Q)tests/install-deps demo
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/demo

check: deps ## unit tests and the gate: depend only on the code (see deps)
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) check-built

check-built: all victims $(UNIT)
	$(Q)B=$(B) tests/run unit $(UNIT)
	$(Q)B=$(B) tests/run gate

check-unit: $(UNIT) ## only the unit tests: no root needed, seconds
	$(Q)B=$(B) tests/run unit $(UNIT)

# A child that has become another user writes what it ran, too.
coverage: ## lines and branches of each folder that the unit tests reach (build/cov; tests/coverage build/cov -v: each file)
	$(Q)umask 0; mkdir -p build/cov && find build/cov -name '*.gcda' -delete && \
		$(MAKE) --no-print-directory B=build/cov OPT='-O0 -g --coverage' check-unit
	$(Q)tests/coverage build/cov

# Not those where the sanitizer's own calls or memory would fail. LeakSanitizer does not work under
# strace, which some tests use: .ci/run looks for leaks.
NOT_ON_ASAN := tests/gate/errno.t tests/gate/limits.t
check-asan: deps ## the gate and random lies, on the build with sanitizers
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) all victims asan
	$(Q)export ASAN_OPTIONS=detect_leaks=0:exitcode=99 JEPROF_CTL=build/asan/jeprof-ctl; status=0; \
		NAME=asan tests/run gate $(filter-out $(NOT_ON_ASAN),$(wildcard tests/gate/*.t)) || status=1; \
		NAME=asan-long tests/run long tests/long/hostile-liar.t || status=1; \
		exit $$status

check-long: TIER := LONG=1 tests/run long
check-long: deps ## storms, kills, every fault, timing: hours
check-matrix: TIER := tests/run matrix
check-matrix: deps deps-deb ## linkers, C libraries, jemalloc versions, Debian suites (from the network)
check-system: TIER := tests/run system
check-system: deps deps-vm deps-image ## browsers, daemons, other programs
check-long check-matrix check-system:
	$(Q)$(MAKE) --no-print-directory all victims
	$(Q)B=$(B) $(TIER)

check-all: ## all of these and check-vm, then a table of the results
	$(Q)tests/all

VM_SUITES := bullseye bookworm trixie sid
SUITE ?= bookworm
check-vm: deps-vm ## tests in a temporary virtual machine with Debian SUITE (bookworm)
	$(Q)vagrant/check-vm $(SUITE)

check-vm-all: deps-vm ## the same for bullseye, bookworm, trixie, sid; then a table of the results
	$(Q)failed=; for s in $(VM_SUITES); do vagrant/check-vm $$s || failed="$$failed $$s"; done; \
		vagrant/table $(VM_SUITES) | tee build/vm/table.md; \
		test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

vm: deps-vm ## a shell in such a machine with jeprof-ctl; it is destroyed when the shell exits
	$(Q)vagrant/check-vm --shell $(SUITE)

deps-image:
	$(Q)tests/install-deps image

deps-vm:
	$(Q)tests/install-deps vm

lint: deps ## style, layers, sizes, static analysis
	$(Q)$(MAKE) --no-print-directory generated
	$(Q)tests/lint/all

format: ## format all C files
	$(Q)clang-format -i $(C_FILES)

asan: ## build/asan/jeprof-ctl, with address and undefined sanitizers
	$(Q)$(MAKE) --no-print-directory B=build/asan SAN=1 all

bench: all victims $(B)/bench/stall $(B)/bench/stacks $(B)/bench/mallocs ## compare with gdb and strace: time, pauses, stalls
	$(Q)B=$(B) bench/run
	$(Q)B=$(B) bench/pause
	$(Q)B=$(B) bench/lookup
	$(Q)B=$(B) bench/list
	$(Q)B=$(B) bench/report
	$(Q)B=$(B) bench/watch
	$(Q)B=$(B) bench/refusals
	$(Q)B=$(B) bench/sampling
	$(Q)B=$(B) bench/sample
	$(Q)B=$(B) bench/fleet
	$(Q)B=$(B) bench/scale

# For bench/refusals.
LOOKING := $(B)/bench/jeprof-ctl-looking
victims: $(LOOKING) $(B)/bench/frames
$(LOOKING): bench/looked.c bench/looked.h $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		$(foreach f,safepoint_check confine_syscalls,-Wl,--wrap=$(f)) -o $@ $< $(OBJ) $(LDLIBS)
$(B)/bench/frames: BENCH_LIBS := -ldw
$(B)/bench/frames: bench/looked.h

$(B)/bench/%: bench/%.c Makefile
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) -pthread -o $@ $< $(BENCH_LIBS)

screenshots: all ## build/screenshots/: pictures of the pages in each view, wide, narrow and dark (root)
	$(Q)B=$(B) doc/pictures/make $(B)/screenshots

FUZZ_RUNS = -max_total_time=$(or $(FUZZ_SECONDS),60)
fuzz: build/tests/target/libliar.so ## run every fuzz target for FUZZ_SECONDS (60)
	$(Q)$(MAKE) --no-print-directory B=build/asan SAN=1 build-fuzz
	$(Q)tests/fuzz/seeds build/asan/fuzz $<
	$(Q)printf '%s\n' $(FUZZ:$(B)/%=build/asan/%) | xargs -P $$(nproc) -n 1 sh -c '\
		$$0 $(FUZZ_RUNS) -timeout=20 -rss_limit_mb=2048 -artifact_prefix=$$0. $$0.corpus >$$0.log 2>&1 || \
			{ tail -n 50 $$0.log; exit 255; }; \
		echo "$$0: $$(sed -n "s/^Done/no finding in/p" $$0.log)"'

check-fuzz: FUZZ_RUNS = -runs=0
check-fuzz: fuzz ## run every fuzz target on its corpus only

build-fuzz: $(FUZZ)
# It starts no process.
$(B)/fuzz/fuzz_child: FUZZ_LINK := -Wl,--wrap=confined_start,--wrap=confined_ask,--wrap=confined_answer
$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(B)/tested.a
	$(say) FUZZ $@
	$(Q)mkdir -p $(@D)
	$(Q)$(BUILD_CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(FUZZ_LINK) -fsanitize=fuzzer -MF $@.d -MT $@ -o $@ $< \
		$(B)/tested.a $(LDLIBS)

COMPLETIONS := $(addprefix $(B)/completion/,bash zsh fish)
$(COMPLETIONS): $(BIN)
	$(Q)mkdir -p $(@D) && $(BIN) completion $(@F) >$@.new && mv $@.new $@

UNITS := jeprof-ctl-guard.service jeprof-ctl-serve.service jeprof-ctl-serve.socket jeprof-ctl-watch.service
install: all $(COMPLETIONS) ## install to PREFIX (/usr/local), below DESTDIR
	install -D -m 755 $(BIN) $(DESTDIR)$(SBINDIR)/jeprof-ctl
	install -D -m 755 $(FRONT) $(DESTDIR)$(LIBEXECDIR)/jeprof-ctl/http
	install -D -m 644 doc/jeprof-ctl.8 $(DESTDIR)$(MANDIR)/man8/jeprof-ctl.8
	install -D -m 644 doc/schema/jeprof-ctl.json $(DESTDIR)$(DATADIR)/schema.json
	install -D -m 644 doc/schema/openapi.json $(DESTDIR)$(DATADIR)/openapi.json
	install -D -m 644 -t $(DESTDIR)$(UNITDIR) $(UNITS:%=packaging/%)
	install -D -m 644 packaging/jeprof-ctl.sysusers $(DESTDIR)$(SYSUSERSDIR)/jeprof-ctl.conf
	install -D -m 644 $(B)/completion/bash $(DESTDIR)$(BASHDIR)/jeprof-ctl
	install -D -m 644 $(B)/completion/zsh $(DESTDIR)$(ZSHDIR)/_jeprof-ctl
	install -D -m 644 $(B)/completion/fish $(DESTDIR)$(FISHDIR)/jeprof-ctl.fish
	sed -i 's|/usr/local/sbin/|$(SBINDIR)/|' $(UNITS:%=$(DESTDIR)$(UNITDIR)/%)

uninstall: ## remove what install installed
	rm -f $(DESTDIR)$(SBINDIR)/jeprof-ctl $(DESTDIR)$(MANDIR)/man8/jeprof-ctl.8 \
		$(DESTDIR)$(LIBEXECDIR)/jeprof-ctl/http $(DESTDIR)$(DATADIR)/schema.json \
		$(DESTDIR)$(DATADIR)/openapi.json \
		$(UNITS:%=$(DESTDIR)$(UNITDIR)/%) $(DESTDIR)$(SYSUSERSDIR)/jeprof-ctl.conf \
		$(DESTDIR)$(BASHDIR)/jeprof-ctl $(DESTDIR)$(ZSHDIR)/_jeprof-ctl \
		$(DESTDIR)$(FISHDIR)/jeprof-ctl.fish

DEB_SUITES ?= bookworm trixie
deb: deps-deb ## Debian packages in build/deb/, for each of DEB_SUITES (bookworm trixie) in its own root directory (root)
	$(Q)for s in $(DEB_SUITES); do packaging/build-deb $$s || exit 1; done

deps-deb:
	$(Q)tests/install-deps deb

deps-build: ## apt-get install missing packages needed to build (root)
	$(Q)tests/install-deps build

deps: ## apt-get install missing packages needed to build and test (root)
	$(Q)tests/install-deps

clean: ## remove build/
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo '  V=1 shows the commands; CC, OPT, PREFIX, DESTDIR as usual'

-include $(OBJ:.o=.d) $(FRONT_OBJ:.o=.d) $(B)/bpf/absent.d $(UNIT:=.d) $(FUZZ:=.d)
