# SPDX-License-Identifier: Apache-2.0
# What tests/gate/hostile-received.t needs: a library that returns data that are expensive to read,
# and a build of jeprof-ctl that trusts them.

victims: $(V_DIR)/given $(B)/tests/careless/jeprof-ctl-received
$(V_DIR)/libgiver.so: tests/target/giver.c
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -fPIC -shared -o $@ $<
$(V_DIR)/given: tests/target/lied-to.c $(V_SOURCES) $(V_DIR)/libgiver.so
	$(say) LD $@
	$(Q)$(V_BUILD) -L$(V_DIR) -Wl,--no-as-needed -lgiver -Wl,-rpath,'$$ORIGIN'

$(B)/tests/careless/jeprof-ctl-received: tests/careless/received.c tests/target/received.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		-Wl,--wrap=stats_text_check,--wrap=stats_text_write -o $@ $< \
		$(filter-out $(B)/io/received.o $(B)/ops/target/inside_file.o,$(OBJ)) $(LDLIBS)

OVERTAKEN := profile_parse_pieces bundle_find stats_text_write mapped_complete fence_confined \
	fence_leave_root confined_answer setrlimit
victims: $(B)/tests/careless/jeprof-ctl-overtaken
OVERTAKEN_C := tests/careless/overtaken.c tests/careless/overtaken_calls.c
$(B)/tests/careless/jeprof-ctl-overtaken: $(OVERTAKEN_C) tests/careless/overtaken_calls.h \
		tests/target/received.mk $(OBJ)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		$(foreach f,$(OVERTAKEN),-Wl,--wrap=$(f)) -o $@ $(OVERTAKEN_C) $(OBJ) $(LDLIBS)
