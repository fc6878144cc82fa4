# SPDX-License-Identifier: Apache-2.0
# What the hazard tests need besides: victims that are hard on an injection, and the careless
# build of jeprof-ctl (tests/careless/safepoint.c), which is never installed.

CARELESS := $(B)/tests/careless/jeprof-ctl
HAZARDS := $(CARELESS) $(addprefix $(V_DIR)/,mortal storm stacks death throws)

$(CARELESS): tests/careless/safepoint.c tests/target/hazards.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		$(foreach f,ptrace proc_alive callsite_holds,-Wl,--wrap=$(f)) -o $@ $< \
		$(filter-out $(B)/injector/safepoint.o,$(OBJ)) $(LDLIBS)

$(addprefix $(V_DIR)/,mortal storm stacks death): $(V_DIR)/%: tests/target/%.c $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(V_BUILD) -Wl,--no-as-needed -ljemalloc -ldl

$(V_DIR)/throws: tests/target/throws.cc $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -c -o $@.o tests/target/victim.c
	$(Q)$(CXX) -std=gnu++17 -O2 -g -Wall -Wextra -Werror -pthread -I. -o $@ $< $@.o \
		-Wl,--no-as-needed -ljemalloc

# As HAVE_BPF=0 builds it.
NOBPF := $(B)/tests/nobpf/jeprof-ctl
victims: $(NOBPF)
$(NOBPF): $(OBJ) $(B)/bpf/absent.o
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(sort $(filter-out %/bpf/watch.o %/bpf/why.o,$^)) \
		$(filter-out -lbpf,$(LDLIBS))

victims: $(HAZARDS)
