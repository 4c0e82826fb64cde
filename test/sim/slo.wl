# SPDX-License-Identifier: Apache-2.0
# run: --policy pack --set control=gpucolo --set period=1ms --set period_requests=2 --set period_cycles=1 --set most_pause=1ms --set share_first=no
# A service with a latency goal beside a trainer; for a while its requests take longer. The trainer's pauses
# grow until the goal is met. In the busy phase they reach their limit, and then the trainer's share changes.
device memory=1GiB sms=80 dispatch=2us until=12ms
kernels name=serve
k 60us sms=160 class=compute
k 40us sms=160 class=memory
kernels name=burst
k 90us sms=240 class=compute
k 50us sms=200 class=memory
kernels name=train
k 100us sms=320 class=compute
k 100us sms=320 class=memory
job name=serve persistent=10MiB ephemeral=10MiB kernels=serve launch=5us slo=150us burst=burst burst_from=4ms burst_until=8ms
job name=train persistent=100MiB ephemeral=100MiB kernels=train launch=5us
