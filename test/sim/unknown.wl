# SPDX-License-Identifier: Apache-2.0
# A job with unknown reservation begins without memory and asks for it; others join beside it in the rest.
# run: --policy pack
device memory=4GiB
job name=unknown persistent=500MiB ephemeral=1GiB iterations=5 iteration=10ms unknown=yes
job name=known arrival=5ms persistent=500MiB ephemeral=1GiB iterations=1 iteration=10ms
job name=unknown.too arrival=6ms persistent=100MiB ephemeral=200MiB iterations=1 iteration=10ms unknown=yes
