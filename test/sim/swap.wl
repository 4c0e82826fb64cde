# SPDX-License-Identifier: Apache-2.0
# SRTF with swap: the long job's persistent memory is swapped out at its boundary, 2 GiB at 1 GiB/s. The
# shorter job begins when the copy has completed; afterwards the long job is swapped in.
# run: --policy srtf --set swap=1
device memory=4GiB link=1GiB/s
job name=long persistent=2GiB ephemeral=1GiB iterations=3 iteration=1s
job name=short arrival=500ms persistent=2GiB ephemeral=1GiB iterations=1 iteration=100ms
