# SPDX-License-Identifier: Apache-2.0
# run: --policy pack --set control=gpucolo --set period=200ms --set period_cycles=2
# A service with a latency goal beside a trainer, on a device with shares in steps of an eighth: the trainer
# alternates between the steps below and above its share.
device memory=1GiB sms=80 share_sms=10 dispatch=2us until=1500ms
kernels name=serve
k 3ms sms=160 class=compute
k 2ms sms=160 class=memory
kernels name=train
k 20ms sms=320 class=compute
k 20ms sms=320 class=memory
job name=serve persistent=10MiB ephemeral=10MiB kernels=serve launch=5us slo=7ms
job name=train persistent=100MiB ephemeral=100MiB kernels=train launch=5us
