# SPDX-License-Identifier: Apache-2.0
# check-lanes: lanes under three million random steps beside a model.
.PHONY: check-lanes
check-lanes: $(BUILD)/test/plain/lane_random
	$(Q)$<
