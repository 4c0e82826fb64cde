# SPDX-License-Identifier: Apache-2.0
# run: --policy fair --kernel orion --set dur_threshold=40%
# The workload of kernels.wl under orion: the requests have the device's high priority. The training's kernels
# are held by class, size and time while a request runs; its copies are not.
device memory=1GiB sms=80 dispatch=2us
kernels name=train
k 100us sms=320 class=compute
k 40us sms=32 class=memory
c 30us
k 20us sms=8
kernels name=serve
k 30us sms=60 class=compute compute=0.5 memory=0.125
k 20us sms=40 class=memory
gaps name=trace
50us 70us
400us
job name=train persistent=100MiB ephemeral=100MiB kernels=train iterations=3 launch=5us
job name=serve persistent=10MiB ephemeral=10MiB kernels=serve iterations=4 every=gaps:trace launch=5us priority=1
