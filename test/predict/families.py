# SPDX-License-Identifier: Apache-2.0
"""Networks of eight families, as lines of layers.h: the training data of the software GPU's predictors.

Each includes the host's work: DISPATCH_US for each operator, and LOAD_NS for each byte of input, the same for all.
Both were chosen before anything was measured; without them the software GPU is busy nearly all the time, whatever
runs.
"""
DISPATCH_US = 300
LOAD_NS = 50


class Net:
    def __init__(self, *size):
        self.lines = ["input " + " ".join(map(str, size))]

    def add(self, op, *args, at=None):
        """Adds a layer after the last one, or after `at` (a number, or two); returns its number."""
        at = len(self.lines) - 1 if at is None else at
        at = ",".join(map(str, at)) if isinstance(at, tuple) else str(at)
        self.lines.append(" ".join([op, at] + [str(a) for a in args]))
        return len(self.lines) - 1

    def conv(self, out, k=3, s=1, groups=1, at=None):
        return self.add("conv", out, k, s, k // 2, groups, at=at)

    def conv_bn(self, out, k=3, s=1, groups=1, at=None):
        self.conv(out, k, s, groups, at)
        self.add("bn")
        return self.add("relu")

    def text(self, batch):
        return f"batch {batch}\ndispatch {DISPATCH_US}\nload {LOAD_NS}\n" + "\n".join(self.lines) + "\n"


def mlp(width, depth):
    n = Net(256)
    for _ in range(depth):
        n.add("fc", width)
        n.add("relu")
    n.add("fc", 10)
    n.add("softmax")
    return n


def lenet(width, size):
    n = Net(1, size, size)
    for w in (width, 2 * width):
        n.conv(w, 5)
        n.add("relu")
        n.add("maxpool", 2, 2)
    n.add("flatten")
    for out in (16 * width, 8 * width):
        n.add("fc", out)
        n.add("relu")
    n.add("fc", 10)
    n.add("softmax")
    return n


def vgg(width, stages, size):
    n = Net(3, size, size)
    for k in range(stages):
        for _ in range(2):
            n.conv(width << k)
            n.add("relu")
        n.add("maxpool", 2, 2)
    n.add("flatten")
    n.add("fc", 16 * width)
    n.add("relu")
    n.add("fc", 10)
    n.add("softmax")
    return n


def resnet(width, blocks, size):
    n = Net(3, size, size)
    n.conv_bn(width)
    now = width
    for stage in range(2):
        for b in range(blocks):
            out, s, x = width << stage, 2 if stage and b == 0 else 1, len(n.lines) - 1
            n.conv_bn(out, 3, s, at=x)
            n.conv(out)
            y = n.add("bn")
            if out != now or s > 1:
                n.conv(out, 1, s, at=x)
                x = n.add("bn")
            n.add("add", at=(y, x))
            n.add("relu")
            now = out
    n.add("gap")
    n.add("flatten")
    n.add("fc", 10)
    n.add("softmax")
    return n


def mobilenet(width, blocks, size):
    n = Net(3, size, size)
    n.conv_bn(width, 3, 2)
    now = width
    for b in range(blocks):
        x, out = len(n.lines) - 1, width if b < blocks // 2 else 2 * width
        n.conv_bn(3 * now, 1, at=x)
        n.conv_bn(3 * now, 3, 1, 3 * now)
        n.conv(out, 1)
        y = n.add("bn")
        if out == now:
            n.add("add", at=(y, x))
        now = out
    n.add("gap")
    n.add("flatten")
    n.add("fc", 10)
    n.add("softmax")
    return n


def densenet(growth, layers, size):
    n = Net(3, size, size)
    n.conv(2 * growth)
    for block in range(2):
        for _ in range(layers):
            x = len(n.lines) - 1
            n.add("bn", at=x)
            n.add("relu")
            n.conv(growth)
            n.add("concat", at=(x, len(n.lines) - 1))
        n.conv(2 * growth, 1)
        n.add("avgpool", 2, 2)
    n.add("bn")
    n.add("relu")
    n.add("gap")
    n.add("flatten")
    n.add("fc", 10)
    n.add("softmax")
    return n


def recurrent(cell, hidden, layers, steps):
    n = Net(steps, 32)
    for _ in range(layers):
        n.add(cell, hidden)
    n.add("mean")
    n.add("fc", 10)
    n.add("softmax")
    return n


def transformer(width, layers, steps):
    n = Net(steps, 32)
    x = n.add("fc", width)
    for _ in range(layers):
        q, k, v = (n.add("fc", width, at=x) for _ in range(3))
        n.add("scores", at=(q, k))
        s = n.add("softmax")
        n.add("mix", at=(s, v))
        y = n.add("fc", width)
        n.add("add", at=(y, x))
        x = n.add("ln")
        n.add("fc", 4 * width)
        n.add("relu")
        y = n.add("fc", width)
        n.add("add", at=(y, x))
        x = n.add("ln")
    n.add("mean")
    n.add("fc", 10)
    n.add("softmax")
    return n


def all_of_them():
    """[(family, name, text, batch)]"""
    found = []

    def add(family, name, net, batches):
        for b in batches:
            found.append((family, f"{name}-b{b}", net.text(b), b))

    for width, depth in ((64, 2), (256, 2), (128, 6), (512, 3), (1024, 2)):
        add("mlp", f"mlp{width}x{depth}", mlp(width, depth), (1, 8, 32))
    for width, size in ((4, 16), (6, 28), (16, 28), (8, 48)):
        add("lenet", f"lenet{width}s{size}", lenet(width, size), (1, 4, 16))
    for width, stages, size in ((4, 2, 16), (8, 3, 32), (4, 3, 48), (16, 3, 16), (6, 4, 32)):
        add("vgg", f"vgg{width}x{stages}s{size}", vgg(width, stages, size), (1, 2, 8))
    for width, blocks, size in ((4, 1, 16), (8, 2, 24), (4, 4, 32), (16, 1, 24), (6, 6, 16)):
        add("resnet", f"resnet{width}x{blocks}s{size}", resnet(width, blocks, size), (1, 2, 8))
    for width, blocks, size in ((4, 2, 32), (8, 4, 32), (4, 8, 24), (16, 4, 24), (8, 6, 48)):
        add("mobilenet", f"mobilenet{width}x{blocks}s{size}", mobilenet(width, blocks, size),
            (1, 2, 4) if width * size > 380 or size > 32 else (1, 4, 16))
    for growth, layers, size in ((4, 2, 16), (4, 4, 24), (8, 3, 16), (6, 6, 24)):
        add("densenet", f"densenet{growth}x{layers}s{size}", densenet(growth, layers, size), (1, 2, 8))
    for cell, hidden, layers, steps in (("lstm", 16, 1, 8), ("lstm", 64, 1, 16), ("lstm", 32, 2, 12), ("gru", 16, 2, 8),
                                        ("gru", 64, 1, 12), ("gru", 128, 1, 6)):
        add("rnn", f"{cell}{hidden}x{layers}t{steps}", recurrent(cell, hidden, layers, steps), (1, 8, 32))
    for width, layers, steps in ((16, 1, 16), (32, 2, 24), (64, 1, 32), (32, 4, 16), (96, 2, 12)):
        add("transformer", f"transformer{width}x{layers}t{steps}", transformer(width, layers, steps), (1, 2, 8))
    return found
