# SPDX-License-Identifier: Apache-2.0
# What the hazard tests need besides: victims that are hard on an injection, and the careless
# build of jeprof-ctl (tests/careless/safepoint.c), which is never installed.

CARELESS := $(B)/tests/careless/jeprof-ctl
HAZARDS := $(CARELESS)

$(CARELESS): tests/careless/safepoint.c tests/target/hazards.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		$(foreach f,ptrace proc_alive callsite_holds,-Wl,--wrap=$(f)) -o $@ $< \
		$(filter-out $(B)/injector/safepoint.o,$(OBJ)) $(LDLIBS)

victims: $(HAZARDS)
