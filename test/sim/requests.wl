# SPDX-License-Identifier: Apache-2.0
# At the boundary, priority comes before FAIR's rank; during think time the other job has the lane.
# run: --policy fair --set max_lanes=1
job name=server persistent=100MiB ephemeral=1GiB iterations=3 iteration=2ms think=20ms priority=1
job name=training persistent=100MiB ephemeral=1GiB iterations=6 iteration=10ms
