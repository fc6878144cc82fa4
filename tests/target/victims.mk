# SPDX-License-Identifier: Apache-2.0
# Victims: programs for the tests to work on. Included by the Makefile. The suffix says how jemalloc
# gets in: NAME is linked with libjemalloc.so, NAME-plain has none, NAME-je has libjemalloc_pic.a
# with every public symbol renamed to je_*, NAME-rjem has it as the program's malloc with mallctl
# and its siblings renamed to _rjem_*, NAME-static is static.

V_DIR := $(B)/tests/target
V_CFLAGS := -std=gnu17 -O2 -g -Wall -Wextra -Werror -pthread -iquote . -D_GNU_SOURCE= $(ARCH_FLAGS)
V_LIBDIR := /usr/lib/$(shell $(CC) -print-multiarch)
V_MALLOC := malloc calloc realloc free aligned_alloc posix_memalign memalign valloc \
	malloc_usable_size
V_CTL := mallctl mallctlbymib mallctlnametomib malloc_stats_print malloc_conf malloc_message \
	malloc_conf_2_conf_harder
V_OTHER := mallocx rallocx xallocx sallocx dallocx sdallocx nallocx smallocx_54eaed1d8b56b1aa528be3bdd1877e59c56fa90c
V_DYNAMIC := $(addprefix $(V_DIR)/,idle busy)
VICTIMS := $(foreach s,-plain -je -rjem,$(V_DYNAMIC:=$(s))) $(V_DYNAMIC) $(V_DIR)/idle-static \
	$(addprefix $(V_DIR)/,fenced tracer small32 smallx32)

victims: $(VICTIMS)

$(V_DIR)/libje.a: PREFIXED = $(foreach s,$(V_MALLOC) $(V_CTL) $(V_OTHER),--redefine-sym $(s)=je_$(s))
$(V_DIR)/librjem.a: PREFIXED = $(foreach s,$(V_CTL),--redefine-sym $(s)=_rjem_$(s))
$(V_DIR)/lib%.a: tests/target/victims.mk
	$(say) COPY $@
	$(Q)mkdir -p $(@D)
	$(Q)objcopy $(PREFIXED) $(V_LIBDIR)/libjemalloc_pic.a $@

V_SOURCES := $(addprefix tests/target/,victim.c victim.h block.h) \
	tests/target/victims.mk
V_BUILD = $(CC) $(V_CFLAGS) -o $@ $< tests/target/victim.c
V_STATIC_LIBS := -lm -ldl -lstdc++

define victim
$(V_DIR)/$(1): tests/target/$(1).c $(V_SOURCES)
	$$(say) LD $$@
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(V_BUILD) -Wl,--no-as-needed -ljemalloc
$(V_DIR)/$(1)-plain: tests/target/$(1).c $(V_SOURCES)
	$$(say) LD $$@
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(V_BUILD)
$(V_DIR)/$(1)-je: tests/target/$(1).c $(V_SOURCES) $(V_DIR)/libje.a
	$$(say) LD $$@
	$$(Q)$$(V_BUILD) -DCONF_NAME='"JE_MALLOC_CONF"' $(foreach s,malloc calloc realloc free,-D$(s)=je_$(s)) \
		-Wl,--whole-archive $(V_DIR)/libje.a -Wl,--no-whole-archive $(V_STATIC_LIBS)
$(V_DIR)/$(1)-rjem: tests/target/$(1).c $(V_SOURCES) $(V_DIR)/librjem.a
	$$(say) LD $$@
	$$(Q)$$(V_BUILD) -DCONF_NAME='"_RJEM_MALLOC_CONF"' \
		-Wl,--whole-archive $(V_DIR)/librjem.a -Wl,--no-whole-archive $(V_STATIC_LIBS)
$(V_DIR)/$(1)-static: tests/target/$(1).c $(V_SOURCES)
	$$(say) LD $$@
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(V_BUILD) -static -Wl,--whole-archive $(V_LIBDIR)/libjemalloc.a -Wl,--no-whole-archive \
		$(V_STATIC_LIBS)
endef
$(foreach v,idle busy,$(eval $(call victim,$(v))))

$(V_DIR)/fenced: tests/target/fenced.c
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -o $@ $< -lseccomp

$(V_DIR)/tracer: tests/target/tracer.c
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -o $@ $<

$(V_DIR)/small32: V_ABI := -m32
$(V_DIR)/smallx32: V_ABI := -mx32
$(V_DIR)/small32 $(V_DIR)/smallx32: tests/target/small32.c
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_ABI) -O1 -Wall -Wextra -Werror -nostdlib -static -fno-pie -no-pie \
		-fno-stack-protector -fcf-protection=none -o $@ $<

# A library that only pretends to be jemalloc, and a program that uses it.
victims: $(V_DIR)/lied-to
$(V_DIR)/libliar.so: tests/target/liar.c
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -fPIC -shared -o $@ $<
$(V_DIR)/lied-to: tests/target/lied-to.c $(V_SOURCES) $(V_DIR)/libliar.so
	$(say) LD $@
	$(Q)$(V_BUILD) -L$(V_DIR) -Wl,--no-as-needed -lliar -Wl,-rpath,'$$ORIGIN'

# --- calls: one system call after another; attach: what careless tools do

victims: $(V_DIR)/calls $(V_DIR)/attach
V_CALLS := $(addprefix tests/target/,calls.c calls_files.c calls_sockets.c calls_waits.c \
	calls_others.c)

$(V_DIR)/calls: $(V_CALLS) tests/target/calls.h $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -o $@ $(V_CALLS) tests/target/victim.c -Wl,--no-as-needed -ljemalloc

$(V_DIR)/attach: tests/target/attach.c
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -o $@ $<

# --- state: registers full of random data

victims: $(V_DIR)/state
$(V_DIR)/state: tests/target/state.c tests/target/state_spin.S $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -o $@ $< tests/target/state_spin.S tests/target/victim.c \
		-Wl,--no-as-needed -ljemalloc

# --- crowd: many threads, some of which come and go

victims: $(V_DIR)/crowd
$(V_DIR)/crowd: tests/target/crowd.c $(V_SOURCES)
	$(say) LD $@
	$(Q)$(V_BUILD) -Wl,--no-as-needed -ljemalloc

# --- owned: memory of many owners

victims: $(V_DIR)/owned
$(V_DIR)/owned: tests/target/owned.c $(V_SOURCES)
	$(say) LD $@
	$(Q)$(V_BUILD) -Wl,--no-as-needed -ljemalloc

# --- signals: a storm of signals; launch: a parent that watches its child's job control

victims: $(addprefix $(V_DIR)/,signals launch)
$(V_DIR)/signals $(V_DIR)/launch: $(V_DIR)/%: tests/target/%.c $(V_SOURCES)
	$(say) LD $@
	$(Q)$(V_BUILD) -Wl,--no-as-needed -ljemalloc

# --- ticks: one system call with a timeout after another, and how late they end

victims: $(V_DIR)/ticks
$(V_DIR)/ticks: tests/target/ticks.c $(V_SOURCES)
	$(say) LD $@
	$(Q)$(V_BUILD) -Wl,--no-as-needed -ljemalloc

# --- loader: libraries that are loaded late; pretenders: no jemalloc, but parts of it

victims: $(addprefix $(V_DIR)/,loader pretender pretender-mallctl pretender-musl)
$(V_DIR)/loader: tests/target/loader.c $(V_SOURCES)
	$(say) LD $@
	$(Q)$(V_BUILD)
$(V_DIR)/pretender: tests/target/pretender.c tests/target/victims.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -s -o $@ $<
$(V_DIR)/pretender-mallctl: tests/target/pretender.c tests/target/victims.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -rdynamic -DOWN_MALLCTL -o $@ $<
$(V_DIR)/pretender-musl: tests/target/pretender.c tests/target/victims.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)musl-gcc -std=gnu17 -O2 -static -s -o $@ $<

# --- npm programs, in the versions of a lock file

victims: $(B)/npm/installed
$(B)/npm/installed: $(addprefix tests/npm/,package.json package-lock.json .npmrc)
	$(say) NPM $(@D)
	$(Q)mkdir -p $(@D)
	$(Q)cp $^ $(@D)
	$(Q)cd $(@D) && npm ci --no-audit --no-fund --loglevel=error >/dev/null
	$(Q)touch $@

# --- options: what jemalloc makes of a configuration

victims: $(V_DIR)/options
$(V_DIR)/options: tests/target/options.c tests/target/victims.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -o $@ $<

# --- idle-conf: idle, with its own options

victims: $(V_DIR)/idle-conf
$(V_DIR)/idle-conf: tests/target/idle.c tests/target/conf_symbol.c $(V_SOURCES)
	$(say) LD $@
	$(Q)$(V_BUILD) tests/target/conf_symbol.c -Wl,--no-as-needed -ljemalloc

# --- leaky: forgets a known amount, or nothing; grower: holds as much as it is told; allocators:
# allocates known shares; keepers, callers: keep known amounts

victims: $(addprefix $(V_DIR)/,leaky grower allocators keepers callers)
$(addprefix $(V_DIR)/,leaky grower allocators keepers callers): $(V_DIR)/%: tests/target/%.c $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(V_BUILD) -fno-optimize-sibling-calls -Wl,--no-as-needed -ljemalloc

# keepers-emits: keepers without jemalloc, whose own allocator has probes; libemitter.so: that
# allocator, to be preloaded
victims: $(V_DIR)/keepers-emits $(V_DIR)/libemitter.so
$(V_DIR)/libemitter.so: tests/target/emitter.c
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -fPIC -shared -ftls-model=initial-exec -fno-builtin -o $@ $< -lm
$(V_DIR)/keepers-emits: tests/target/keepers.c tests/target/emitter.c $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(V_BUILD) tests/target/emitter.c -fno-optimize-sibling-calls -fno-builtin -lm

# --- dumper: writes profiles of itself. Linked with jemalloc in each way, with and without symbols;
# in the static ones, the program's own malloc is the C library's, as otherwise jemalloc would take
# stacks before that is possible. In dumper-hidden, nothing leads to prof_dump: the call that
# creates the file is elsewhere.

D_STATIC := $(addprefix $(V_DIR)/dumper-,static static-pie)
D_TWINS := $(addprefix $(V_DIR)/dumper-,je rjem) $(D_STATIC)
victims: $(V_DIR)/dumper $(V_DIR)/dumper-plain $(D_TWINS) $(D_TWINS:=.stripped) \
	$(V_DIR)/dumper-hidden.stripped
D_WHOLE = -Wl,--whole-archive $(filter %.a,$^) -Wl,--no-whole-archive $(V_STATIC_LIBS)

$(V_DIR)/dumper: tests/target/dumper.c $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(V_BUILD) -Wl,--no-as-needed -ljemalloc
$(V_DIR)/dumper-plain: tests/target/dumper.c $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(V_BUILD)
$(V_DIR)/dumper-rjem: tests/target/dumper.c $(V_SOURCES) $(V_DIR)/librjem.a
	$(say) LD $@
	$(Q)$(V_BUILD) $(D_WHOLE)
# In a program without symbols, only a thread that waits, and is in no handler, is borrowed.
victims: $(V_DIR)/stacks-rjem.stripped
$(V_DIR)/stacks-rjem: tests/target/stacks.c $(V_SOURCES) $(V_DIR)/librjem.a
	$(say) LD $@
	$(Q)$(V_BUILD) -DCONF_NAME='"_RJEM_MALLOC_CONF"' $(D_WHOLE)
$(V_DIR)/stacks%.stripped: $(V_DIR)/stacks%
	$(say) STRIP $@
	$(Q)strip -s -o $@ $<
$(V_DIR)/dumper-je: tests/target/dumper.c $(V_SOURCES) $(V_DIR)/libje.a
	$(say) LD $@
	$(Q)$(V_BUILD) $(D_WHOLE)
$(D_STATIC): $(V_DIR)/dumper-%: tests/target/dumper.c $(V_SOURCES) $(V_DIR)/libje.a
	$(say) LD $@
	$(Q)$(V_BUILD) -$* $(D_WHOLE)
$(V_DIR)/dumper-hidden: tests/target/dumper.c $(V_SOURCES) $(V_DIR)/librjem.a
	$(say) LD $@
	$(Q)$(V_BUILD) -DHIDE_CREAT -Wl,--wrap=creat $(D_WHOLE)
$(V_DIR)/dumper%.stripped: $(V_DIR)/dumper%
	$(say) STRIP $@
	$(Q)strip -s -o $@ $<
