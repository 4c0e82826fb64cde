# SPDX-License-Identifier: Apache-2.0
# One lane shared by device time with weights 2 : 1; a new job starts with the others' level of service.
# run: --policy fair --set max_lanes=1
job name=heavy persistent=100MiB ephemeral=1GiB iterations=6 iteration=10ms weight=2
job name=light persistent=100MiB ephemeral=1GiB iterations=3 iteration=10ms
job name=newcomer arrival=45ms persistent=100MiB ephemeral=1GiB iterations=2 iteration=10ms weight=2
