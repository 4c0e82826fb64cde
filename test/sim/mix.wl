# SPDX-License-Identifier: Apache-2.0
# run: --policy pack --kernel streams
# run: --policy pack --kernel temporal
# run: --policy pack --kernel ticktock
# run: --policy pack --kernel reef
# run: --policy pack --kernel orion
# run: --policy pack --kernel slack
# Two services and two trainings, under each kernel policy; the traces are mix-POLICY.trace.
device memory=2GiB sms=80 until=60ms dispatch=5us
kernels name=infer
k 300us sms=30 class=memory
c 20us
k 200us sms=60 class=compute
k 100us sms=10
kernels name=train
k 400us sms=90 class=compute
k 150us sms=20 class=memory
c 30us
k 200us sms=50 class=compute
k 90us sms=24 class=memory
k 350us sms=16
job name=server kernels=infer every=exp(3ms) launch=5us priority=1 persistent=150MiB ephemeral=200MiB
job name=a kernels=train launch=5us persistent=300MiB ephemeral=400MiB
job name=b kernels=train launch=5us persistent=300MiB ephemeral=400MiB
job name=c kernels=infer every=4ms launch=5us arrival=10ms priority=1 persistent=150MiB ephemeral=200MiB
