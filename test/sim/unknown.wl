# SPDX-License-Identifier: Apache-2.0
# A job of unknown needs begins on nothing and asks; others come in beside it, on what it leaves.
# run: --policy pack
device memory=4GiB
job name=unknown persistent=500MiB ephemeral=1GiB iterations=5 iteration=10ms unknown=yes
job name=known arrival=5ms persistent=500MiB ephemeral=1GiB iterations=1 iteration=10ms
job name=unknown.too arrival=6ms persistent=100MiB ephemeral=200MiB iterations=1 iteration=10ms unknown=yes
