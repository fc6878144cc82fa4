# SPDX-License-Identifier: Apache-2.0
# What the tests with fences need in addition: a program that walls itself in, and a build of
# jeprof-ctl that ignores walls (tests/careless/seccomp.c), which is never installed.

$(eval $(call careless,fences,seccomp,injector/seccomp))

$(V_DIR)/walled: tests/target/walled.c $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(V_BUILD) -Wl,--no-as-needed -ljemalloc -lseccomp

victims: $(V_DIR)/walled
