# SPDX-License-Identifier: Apache-2.0
# What the tests with fences need besides: a program that walls itself in, and a build of
# jeprof-ctl that takes no notice of walls (tests/careless/seccomp.c), which is never installed.

CARELESS_FENCES := $(B)/tests/careless/jeprof-ctl-fences

$(CARELESS_FENCES): tests/careless/seccomp.c tests/target/fences.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) -o $@ $< \
		$(filter-out $(B)/injector/seccomp.o,$(OBJ)) $(LDLIBS)

$(V_DIR)/walled: tests/target/walled.c $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(V_BUILD) -Wl,--no-as-needed -ljemalloc -lseccomp

victims: $(V_DIR)/walled $(CARELESS_FENCES)
