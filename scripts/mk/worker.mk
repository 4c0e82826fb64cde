# SPDX-License-Identifier: Apache-2.0
# The worker's benchmark drives it with the tests' scripted client.
$(BUILD)/test/bench/worker_bench: $(BUILD)/test/lib/fakedev.o $(BUILD)/test/lib/wireclient.o
