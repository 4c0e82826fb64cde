# SPDX-License-Identifier: Apache-2.0
"""The Python version of adder.c, with numpy or without. `adder.py bytes`: "t" is each "s" in capitals."""
import sys

if "plain" in sys.argv:
    sys.modules["numpy"] = None
import salus_serve  # noqa: E402

for batch in salus_serve.batches():
    if "bytes" in sys.argv:
        batch.answer(t=[s.upper() for i in range(len(batch)) for s in batch.input("s", i)])
        continue
    a, b = batch["a"], batch["b"]
    if salus_serve.numpy:
        if a.flat[0] < 0:
            batch.fail("it is negative")
            continue
        batch.answer(y=a + b)
    else:
        x, z = a.cast("B").cast("f"), b.cast("B").cast("f")
        if x[0] < 0:
            batch.fail("it is negative")
            continue
        y = memoryview(bytearray(a.nbytes)).cast("f")
        for i, value in enumerate(x):
            y[i] = value + z[i]
        batch.answer(y=y.cast("B").cast("f", a.shape))
