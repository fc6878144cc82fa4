# SPDX-License-Identifier: Apache-2.0
# What the hazard tests need in addition: victims that are difficult for an injection, the careless
# build of jeprof-ctl (tests/careless/safepoint.c), and the one that believes what targets say
# (tests/careless/trusting.c). These builds are never installed.

# $(call careless,NAME,SOURCE,FILE): a build in which tests/careless/SOURCE.c stands in for FILE.c.
define careless
victims: $(B)/tests/careless/jeprof-ctl-$(1)
$(B)/tests/careless/jeprof-ctl-$(1): tests/careless/$(2).c tests/target/hazards.mk $$(OBJ)
	$$(say) LD $$@
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(filter-out -MMD -MP,$$(CPPFLAGS)) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$< \
		$$(filter-out $$(B)/$(3).o,$$(OBJ)) $$(LDLIBS)
endef

CARELESS := $(B)/tests/careless/jeprof-ctl
TRUSTING := $(B)/tests/careless/jeprof-ctl-trusting
ANEW := $(B)/tests/careless/jeprof-ctl-anew
BLAMING := $(B)/tests/careless/jeprof-ctl-blaming
HELD := $(B)/tests/careless/jeprof-ctl-held
HAZARDS := $(CARELESS) $(TRUSTING) $(ANEW) $(BLAMING) $(HELD) $(addprefix $(V_DIR)/,mortal storm stacks death unwound throws shelves)

$(CARELESS): tests/careless/safepoint.c tests/target/hazards.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		$(foreach f,ptrace proc_alive callsite_holds proof_program proof_take mem_read mem_write,-Wl,--wrap=$(f)) -o $@ $< \
		$(filter-out $(B)/injector/safepoint.o,$(OBJ)) $(LDLIBS)

# One that restarts waits with a timeout as if they had just begun.
$(ANEW): tests/careless/waits.c tests/target/hazards.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		$(foreach f,wait_look wait_settle,-Wl,--wrap=$(f)) -o $@ $< $(OBJ) $(LDLIBS)

# One that forgets its own limits, and blames others.
$(BLAMING): tests/careless/blaming.c tests/target/hazards.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		$(foreach f,err_explain err_is_remembered,-Wl,--wrap=$(f)) -o $@ $< $(OBJ) $(LDLIBS)

# One that has to wait for a processor.
$(HELD): tests/careless/held.c tests/target/hazards.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		-Wl,--wrap=rank_one -o $@ $< $(OBJ) $(LDLIBS)

$(TRUSTING): tests/careless/trusting.c tests/target/hazards.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		$(foreach f,jemalloc_file_read filecache_know image_code_addresses graphviz_become \
		door_serve origin_check arch_is_nop symbol_keeper_look_up watch_event_make,-Wl,--wrap=$(f)) -o $@ $< $(OBJ) $(LDLIBS)

$(addprefix $(V_DIR)/,mortal storm stacks death unwound): $(V_DIR)/%: tests/target/%.c $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(V_BUILD) -Wl,--no-as-needed -ljemalloc -ldl

$(V_DIR)/throws $(V_DIR)/shelves: $(V_DIR)/%: tests/target/%.cc $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -c -o $@.o tests/target/victim.c
	$(Q)$(CXX) -std=gnu++17 -O2 -g -Wall -Wextra -Werror -pthread -iquote . -o $@ $< $@.o \
		-Wl,--no-as-needed -ljemalloc

# Programs that attack whoever looks at them; they need no jemalloc.
ATTACKERS := $(addprefix $(V_DIR)/,layers silent)
$(ATTACKERS): $(V_DIR)/%: tests/target/%.c tests/target/fuse.c tests/target/fuse.h
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -o $@ $(filter %.c,$^)

# The build with HAVE_BPF=0.
NOBPF := $(B)/tests/nobpf/jeprof-ctl
victims: $(NOBPF)
$(NOBPF): $(OBJ) $(B)/bpf/absent.o
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(sort $(filter-out $(addprefix %/bpf/,heap.o origin.o sites.o watch.o why.o),$^)) \
		$(filter-out -lbpf,$(LDLIBS))

victims: $(HAZARDS) $(ATTACKERS)

# Programs that are hostile from their first instruction on: no C library, chosen addresses. One
# tries to make its tracer set registers in another program, which is set-user-ID; one swaps files.
BARE := $(addprefix $(V_DIR)/,usurper usurped swapper)
BARE_FLAGS := $(V_CFLAGS) -fno-builtin -nostdlib -static -fno-pie -no-pie -fno-stack-protector \
	-fcf-protection=none -Wl,--section-start=.meet=0x300000
victims: $(BARE)
$(V_DIR)/usurper $(V_DIR)/swapper: BARE_FLAGS += -Wl,--section-start=.far=0x10000000
$(V_DIR)/swapper: BARE_FLAGS += -Wl,--no-warn-rwx-segments
$(BARE): $(V_DIR)/%: tests/target/%.c tests/target/bare.h tests/target/hazards.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BARE_FLAGS) -o $@ $<

# One that opens a memory file by its number (tests/careless/memfd.c).
$(eval $(call careless,memfd,memfd,injector/memfd))

# One that asks neither for room nor for a thread that has called jemalloc
# (tests/careless/footprint.c), and victims that have none, or one such thread.
$(eval $(call careless,footprint,footprint,injector/footprint))
victims: $(V_DIR)/cramped $(V_DIR)/settled
$(V_DIR)/cramped $(V_DIR)/settled: $(V_DIR)/%: tests/target/%.c $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(V_BUILD) -Wl,--no-as-needed -ljemalloc

# A library whose calls do what a filter forbids the program.
victims: $(V_DIR)/escape/libliar.so
$(V_DIR)/escape/libliar.so: tests/target/escaper.c tests/target/hazards.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -fPIC -shared -o $@ $<

# A program with a page that is never delivered.
victims: $(V_DIR)/drowner
$(V_DIR)/drowner: tests/target/drowner.c tests/target/fuse.c tests/target/fuse.h tests/target/hazards.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -fno-stack-clash-protection -o $@ $(filter %.c,$^) -Wl,--no-as-needed -ljemalloc

# One whose children keep all their privileges (tests/careless/unfenced.c).
CARELESS_UNFENCED := $(B)/tests/careless/jeprof-ctl-unfenced
victims: $(CARELESS_UNFENCED)
$(CARELESS_UNFENCED): tests/careless/unfenced.c tests/target/hazards.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		$(foreach f,fence_confined fence_opener,-Wl,--wrap=$(f)) -o $@ $< $(OBJ) $(LDLIBS)

# Programs that compare the C library with what is known about it, also in a static program.
V_INCLUDE := /usr/include/$(shell $(CC) -print-multiarch)
B_SOURCES := tests/target/births.c tests/target/symbols.c $(addprefix injector/,glibc.c musl.c)
H_SOURCES := tests/target/holders.c tests/target/symbols.c \
	$(addprefix injector/,glibc.c musl.c libc.c rank.c)
B_HEADERS := tests/target/symbols.h $(addprefix injector/,libc.h callsite.h tracer.h search.h)
# Only one table of injector/rank.c, without the code that reads a process.
H_FLAGS := -ffunction-sections -fdata-sections -fno-jump-tables -Wl,--gc-sections -Wl,--no-as-needed
victims: $(addprefix $(V_DIR)/,births holders holders-static)
$(V_DIR)/births: $(B_SOURCES) $(B_HEADERS) tests/target/hazards.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -o $@ $(B_SOURCES)
$(V_DIR)/holders $(V_DIR)/holders-static: $(H_SOURCES) $(B_HEADERS) tests/target/hazards.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) $(H_FLAGS) $(if $(filter %-static,$@),-static -DSTATIC,-pie -fPIE) -o $@ $(H_SOURCES) -ldl -lrt

# The same for musl, which comes without kernel headers.
MUSL_CC := musl-gcc $(V_CFLAGS) -idirafter $(V_INCLUDE) -idirafter /usr/include
victims: $(addprefix $(V_DIR)/,births-musl holders-musl holders-musl-static)
$(V_DIR)/births-musl: $(B_SOURCES) $(B_HEADERS) tests/target/hazards.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) -o $@ $(B_SOURCES)
$(V_DIR)/holders-musl $(V_DIR)/holders-musl-static: $(H_SOURCES) $(B_HEADERS) tests/target/hazards.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(H_FLAGS) $(if $(filter %-static,$@),-static -DSTATIC,-pie -fPIE) -o $@ $(H_SOURCES)

# A program that makes any of our system calls fail.
victims: $(V_DIR)/failing
$(V_DIR)/failing: tests/target/failing.c tests/target/hazards.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -o $@ $<

# A library that makes reads of the tracer fail.
victims: $(V_DIR)/libfaulty.so
$(V_DIR)/libfaulty.so: tests/target/faulty.c tests/target/hazards.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -fPIC -shared -o $@ $< -ldl
