# SPDX-License-Identifier: Apache-2.0
# The software GPU as a deterministic device. The test must fail with a worker whose GPU depends on
# the clock.
DETERMINISTIC_RUN = BUILD=$(BUILD) $(PYTHON) test/e2e/results/run_deterministic.py
.PHONY: check-deterministic check-long-deterministic
check-deterministic: all e2e-programs ## racing programs have one result on a deterministic software GPU; 1,000 runs in check-long-deterministic
	$(DETERMINISTIC_RUN)
check-long-parts: check-long-deterministic
check-long-deterministic: all e2e-programs
	$(DETERMINISTIC_RUN) racing --runs 1000 --racing "sums orders heap rounds=1" --compare
