# SPDX-License-Identifier: Apache-2.0
# A job without boundaries loses its turn when its lease ends: its ephemeral memory is spilled, 1 GiB at
# 10 GiB/s, and restored before its next turn.
# run: --policy fair --set max_lanes=1 --set lease=50ms
device link=10GiB/s
job name=endless persistent=100MiB ephemeral=1GiB iterations=8 iteration=20ms boundaries=no
job name=other arrival=10ms persistent=100MiB ephemeral=1GiB iterations=2 iteration=30ms
