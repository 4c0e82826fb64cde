# SPDX-License-Identifier: Apache-2.0
# run: --policy fair --kernel streams --set inflight_cap=2
# Two jobs with single kernels: an operation is submitted when the one before it has been dispatched, at most
# two of a job are on the device, and a boundary comes when all of them have completed. The requests of the
# second job arrive on their own.
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
