# SPDX-License-Identifier: Apache-2.0
# Two lanes run concurrently at half speed; the third job gets no memory until both jobs have left.
# run: --policy pack
device memory=4GiB
job name=a persistent=500MiB ephemeral=1200MiB iterations=2 iteration=100ms
job name=b persistent=500MiB ephemeral=1200MiB iterations=3 iteration=100ms
job name=c arrival=50ms persistent=1GiB ephemeral=2700MiB iterations=1 iteration=10ms demand=0.5
