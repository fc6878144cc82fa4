# SPDX-License-Identifier: Apache-2.0
# The matrix: the victim idle with every linkage of jemalloc and every prefix of its names, with
# symbols and stripped. Included by the Makefile.
#
# NAME.a is Debian's archive with the control functions renamed; the program's malloc is
# jemalloc's in all of them. "static" has a fixed address and no .eh_frame_hdr, "static-hdr"
# has one.

M_DIR := $(B)/tests/target/matrix
M_PREFIXES := none je rjem duckdb
M_LINKAGES := shared pie static-pie static
M_OF_none :=
M_OF_je := je_
M_OF_rjem := _rjem_
M_OF_duckdb := duckdb_je_
M_TWINS := $(foreach l,$(M_LINKAGES),$(foreach p,$(M_PREFIXES),$(M_DIR)/$(l)-$(p))) \
	$(M_DIR)/static-hdr-none
MATRIX := $(M_TWINS) $(M_TWINS:=.stripped) \
	$(foreach p,$(M_PREFIXES),$(M_DIR)/libjemalloc-$(p).so $(M_DIR)/stripped/libjemalloc-$(p).so) \
	$(M_DIR)/stripped/libhidden-rjem.so

victims: $(MATRIX)

M_SOURCES := $(M_DIR)/idle.o $(M_DIR)/victim.o
$(M_SOURCES): $(M_DIR)/%.o: tests/target/%.c $(V_SOURCES) tests/target/matrix.mk
	$(say) CC $@
	$(Q)mkdir -p $(@D)/stripped
	$(Q)$(CC) $(V_CFLAGS) -fPIC -c -o $@ $<

$(M_DIR)/pic-%.a: $(M_SOURCES)
	$(say) COPY $@
	$(Q)objcopy $(foreach s,$(V_CTL),--redefine-sym $(s)=$(M_OF_$*)$(s)) $(V_LIBDIR)/libjemalloc_pic.a $@

M_WHOLE = -Wl,--whole-archive $(filter %.a,$^) -Wl,--no-whole-archive $(V_STATIC_LIBS)

$(M_DIR)/libjemalloc-%.so: $(M_DIR)/pic-%.a
	$(say) LD $@
	$(Q)$(CC) -shared -o $@ -Wl,-soname,$(@F) $(M_WHOLE)
# A library that hides its jemalloc.
$(M_DIR)/libhidden-%.so: $(M_DIR)/pic-%.a
	$(say) LD $@
	$(Q)$(CC) -shared -o $@ -Wl,-soname,$(@F) $(M_WHOLE) -Wl,--exclude-libs,ALL
$(M_DIR)/shared-%: $(M_SOURCES) $(M_DIR)/libjemalloc-%.so
	$(say) LD $@
	$(Q)$(CC) -pthread -o $@ $(M_SOURCES) -L$(M_DIR) -Wl,--no-as-needed -ljemalloc-$* \
		-Wl,-rpath,'$$ORIGIN'
$(M_DIR)/pie-%: $(M_SOURCES) $(M_DIR)/pic-%.a
	$(say) LD $@
	$(Q)$(CC) -pthread -pie -o $@ $(M_SOURCES) $(M_WHOLE)
$(M_DIR)/static-pie-%: $(M_SOURCES) $(M_DIR)/pic-%.a
	$(say) LD $@
	$(Q)$(CC) -pthread -static-pie -o $@ $(M_SOURCES) $(M_WHOLE)
$(M_DIR)/static-hdr-%: $(M_SOURCES) $(M_DIR)/pic-%.a
	$(say) LD $@
	$(Q)$(CC) -pthread -static -no-pie -Wl,--eh-frame-hdr -o $@ $(M_SOURCES) $(M_WHOLE)
$(M_DIR)/static-%: $(M_SOURCES) $(M_DIR)/pic-%.a
	$(say) LD $@
	$(Q)$(CC) -pthread -static -no-pie -o $@ $(M_SOURCES) $(M_WHOLE)

$(M_DIR)/%.stripped: $(M_DIR)/%
	$(say) STRIP $@
	$(Q)strip -s -o $@ $<
$(M_DIR)/stripped/%.so: $(M_DIR)/%.so
	$(say) STRIP $@
	$(Q)mkdir -p $(@D)
	$(Q)strip -s -o $@ $<
.SECONDARY: $(foreach p,$(M_PREFIXES),$(M_DIR)/pic-$(p).a)

# A program with jemalloc's strings, but without jemalloc.
victims: $(M_DIR)/words
$(M_DIR)/words: tests/target/words.c $(V_SOURCES)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(V_BUILD) -static -s

# Programs for where to probe in a file, and for operations that no command does.
LINKED := $(B)/tests/drivers/events $(B)/tests/drivers/verbs
victims: $(LINKED)
$(B)/tests/drivers/verbs: private LDFLAGS += -Wl,--wrap=poll -Wl,--wrap=now_ms
$(LINKED): $(B)/tests/drivers/%: tests/drivers/%.c $(B)/tested.a
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) -o $@ $< $(B)/tested.a $(LDLIBS)
