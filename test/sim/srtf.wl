# SPDX-License-Identifier: Apache-2.0
# The shorter job takes over at the boundary; then the shortest one overtakes it.
# run: --policy srtf
job name=long persistent=100MiB ephemeral=1GiB iterations=4 iteration=100ms
job name=middle arrival=150ms persistent=100MiB ephemeral=1GiB iterations=3 iteration=50ms
job name=short arrival=210ms persistent=100MiB ephemeral=1GiB iterations=1 iteration=10ms
