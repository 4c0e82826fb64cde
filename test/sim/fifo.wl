# SPDX-License-Identifier: Apache-2.0
# One job at a time, in order of arrival, even if the next one is short, and even while the job thinks.
# run: --policy fifo
job name=long persistent=100MiB ephemeral=1GiB iterations=3 iteration=100ms think=5ms
job name=short arrival=110ms persistent=100MiB ephemeral=1GiB iterations=1 iteration=10ms
job name=late arrival=120ms persistent=100MiB ephemeral=1GiB iterations=2 iteration=20ms
