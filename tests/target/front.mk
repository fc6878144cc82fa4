# SPDX-License-Identifier: Apache-2.0
# What tests/gate/front*.t need: a broker that answers with the question, and an HTTP process that
# drops no privileges and trusts every origin.

victims: $(V_DIR)/broker $(B)/tests/careless/http
$(V_DIR)/broker: tests/target/broker.c wire/wire.c wire/wire.h base/err.h tests/target/front.mk
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(V_CFLAGS) -o $@ $< wire/wire.c

$(B)/tests/careless/http: tests/careless/front.c tests/target/front.mk $(FRONT_OBJ) $(B)/tested.a
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS) $(LDFLAGS) \
		-Wl,--wrap=front_confine,--wrap=origin_judge -o $@ $< $(FRONT_OBJ) $(B)/tested.a $(FRONT_LIBS)
