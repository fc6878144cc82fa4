# SPDX-License-Identifier: Apache-2.0
# What goes into the machines of vagrant/. Included by the Makefile. Our programs that run there are
# built for the oldest C library among them; they work with newer ones as well.

VM_VICTIMS := $(addprefix $(B)/vm/target/,idle busy grower storm)

vm-programs: $(B)/portable/jeprof-ctl $(VM_VICTIMS) $(addprefix $(B)/vm/target/,births holders libpreloaded.so)

VM_CC = root=$$(tests/make-root bullseye) && lib=$$root/usr/lib/$$($(CC) -print-multiarch) && \
	$(CC) $(V_CFLAGS) --sysroot=$$root -B$$lib -L$$lib -L$$root/lib/$${lib\#\#*/}
$(B)/vm/target/%: tests/target/%.c $(V_SOURCES) tests/target/vm.mk tests/make-root
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(VM_CC) -o $@ $< tests/target/victim.c -Wl,--no-as-needed -ljemalloc -ldl

$(B)/vm/target/births: $(B_SOURCES) $(B_HEADERS) tests/target/vm.mk tests/make-root
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(VM_CC) -o $@ $(B_SOURCES)
$(B)/vm/target/holders: $(H_SOURCES) $(B_HEADERS) tests/target/vm.mk tests/make-root
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(VM_CC) $(H_FLAGS) -o $@ $(H_SOURCES) -ldl -lrt
$(B)/vm/target/libpreloaded.so: tests/target/preloaded.c tests/target/vm.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(VM_CC) -shared -fPIC -o $@ $<
