# SPDX-License-Identifier: Apache-2.0
# What goes into the machines of vagrant/. Included by the Makefile. A program of ours that runs
# there is built for the oldest C library among them; it runs with the newer ones too.

VM_VICTIMS := $(addprefix $(B)/vm/target/,idle busy)

vm-programs: $(B)/portable/jeprof-ctl $(VM_VICTIMS) $(B)/vm/target/births

$(B)/vm/target/%: tests/target/%.c $(V_SOURCES) tests/target/vm.mk tests/make-root
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)root=$$(tests/make-root bullseye) && lib=$$root/usr/lib/$$($(CC) -print-multiarch) && \
		$(CC) $(V_CFLAGS) --sysroot=$$root -B$$lib -L$$lib -L$$root/lib/$${lib##*/} -o $@ $< \
			tests/target/victim.c -Wl,--no-as-needed -ljemalloc

$(B)/vm/target/births: tests/target/births.c injector/glibc.c injector/glibc.h tests/target/vm.mk tests/make-root
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)root=$$(tests/make-root bullseye) && lib=$$root/usr/lib/$$($(CC) -print-multiarch) && \
		$(CC) $(V_CFLAGS) --sysroot=$$root -B$$lib -L$$lib -L$$root/lib/$${lib##*/} -o $@ $< \
			injector/glibc.c
