# SPDX-License-Identifier: Apache-2.0
# A job that is too large for the device, and one that is not willing to wait that long.
# run: --policy pack
device memory=1GiB
job name=huge persistent=600MiB ephemeral=600MiB iterations=1 iteration=1ms
job name=first persistent=500MiB ephemeral=500MiB iterations=10 iteration=10ms
job name=impatient persistent=500MiB ephemeral=500MiB iterations=1 iteration=1ms admit_timeout=35ms
