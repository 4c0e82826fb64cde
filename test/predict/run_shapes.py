#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our shape inference with onnx's on random models made by Debian's python3-onnx: where onnx infers
sizes, ours must infer the same ones. Then some of the models' nodes are moved into functions, which may be nested
and called again. Our result must equal onnx's inference on the models without functions.

    test/predict/run_shapes.py [--models N] [--seed S] [--corpus DIR]
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

try:
    import onnx
    from onnx import TensorProto, helper, shape_inference
except ImportError:
    print("check-predict: no python3-onnx here: shapes are not compared with onnx's")
    sys.exit(0)

BUILD = os.environ.get("BUILD", "build")
F, I = TensorProto.FLOAT, TensorProto.INT64


class Model:
    """A graph under construction: values with known sizes, some of which operators take."""

    def __init__(self, dice):
        self.dice, self.nodes, self.weights, self.count = dice, [], [], 0
        self.shapes = {}
        self.inputs = []
        for _ in range(dice.randint(1, 3)):
            rank = dice.choice([1, 2, 3, 4, 4, 4])
            self.inputs.append(self.value([dice.choice([2, 4])] + [dice.choice([2, 3, 4, 6, 8]) for _ in range(rank - 1)]))

    def name(self, what):
        self.count += 1
        return f"{what}{self.count}"

    def value(self, shape):
        name = self.name("v")
        self.shapes[name] = shape
        return name

    def weight(self, shape):
        name = self.name("w")
        self.weights.append(helper.make_tensor(name, F, shape, [0.0] * size(shape)))
        return name

    def ints(self, values, scalar=False):
        name = self.name("i")
        self.weights.append(helper.make_tensor(name, I, [] if scalar else [len(values)], values))
        return name

    def pick(self, rank=None):
        """A value of at least this rank, or None."""
        fit = [v for v, s in self.shapes.items() if rank is None or len(s) == rank]
        return self.dice.choice(fit) if fit else None

    def add(self, op, inputs, outputs=1, **attributes):
        names = [self.name("v") for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=self.name("n"), **attributes))
        return names

    def made(self):
        graph = helper.make_graph(self.nodes, "net",
                                  [helper.make_tensor_value_info(v, F, self.shapes[v]) for v in self.inputs],
                                  [helper.make_empty_tensor_value_info(self.nodes[-1].output[0])], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


def size(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def infer(model, data=True):
    inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=data)
    known = {}
    for v in list(inferred.graph.value_info) + list(inferred.graph.output):
        t = v.type.tensor_type
        if t.HasField("shape") and all(d.HasField("dim_value") for d in t.shape.dim):
            known[v.name] = (t.elem_type, [d.dim_value for d in t.shape.dim])
    return known


# ---- operators: each adds a node, or returns None where no value fits ------------------------------------

def unary(m, d):
    return m.add(d.choice(["Relu", "Sigmoid", "Exp", "Tanh", "Softmax", "Erf", "Neg", "Sqrt", "Identity", "Ceil"]), [m.pick()])


def binary(m, d):
    x = m.pick()
    other = [s if d.random() < 0.6 else 1 for s in m.shapes[x]][d.randint(0, len(m.shapes[x])):]
    return m.add(d.choice(["Add", "Mul", "Sub", "Div", "Pow", "Max", "Equal", "Greater"]), [x, m.weight(other)])


def window(m, d, rank):
    axes = rank - 2
    return {"kernel_shape": [d.randint(1, 3) for _ in range(axes)], "strides": [d.randint(1, 2) for _ in range(axes)]}


def conv(m, d):
    x = m.pick(d.choice([3, 4, 4]))
    if not x:
        return None
    shape = m.shapes[x]
    a = window(m, d, len(shape))
    group = d.choice([g for g in (1, 2, 3) if shape[1] % g == 0])
    if d.random() < 0.2:
        a["auto_pad"] = d.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    else:
        a["pads"] = [d.randint(0, 2) for _ in range(2 * (len(shape) - 2))]
        a["dilations"] = [d.randint(1, 2) for _ in range(len(shape) - 2)]
    transposed = d.random() < 0.3
    if transposed:
        a.pop("auto_pad", None)
        w = [shape[1], d.randint(1, 4)] + a["kernel_shape"]
    else:
        w = [group * d.randint(1, 4), shape[1] // group] + a["kernel_shape"]
    return m.add("ConvTranspose" if transposed else "Conv", [x, m.weight(w)], group=group, **a)


def pool(m, d):
    x = m.pick(4)
    if not x:
        return None
    a = window(m, d, 4)
    a["pads"] = [d.randint(0, k - 1) if k > 1 else 0 for k in a["kernel_shape"]] * 2
    if d.random() < 0.3:
        a["ceil_mode"] = 1
    op = d.choice(["MaxPool", "AveragePool", "GlobalAveragePool"])
    return m.add(op, [x], **(a if not op.startswith("Global") else {}))


def matrix(m, d):
    x = m.pick()
    shape = m.shapes[x]
    if d.random() < 0.5 and len(shape) == 2:
        ta, tb = d.randint(0, 1), d.randint(0, 1)
        k, n = shape[0 if ta else 1], d.randint(1, 5)
        return m.add("Gemm", [x, m.weight([n, k] if tb else [k, n])], transA=ta, transB=tb)
    extra = [1] if len(shape) > 2 and d.random() < 0.5 else []
    return m.add("MatMul", [x, m.weight(extra + [shape[-1], d.randint(1, 5)])])


def reshape(m, d):
    x = m.pick()
    s = list(m.shapes[x])
    kind = d.randint(0, 4)
    if kind == 0:
        return m.add("Reshape", [x, m.ints([0, -1] if len(s) > 1 else [-1])])
    if kind == 1:
        return m.add("Flatten", [x], axis=d.randint(0, len(s)))
    if kind == 2:
        return m.add("Transpose", [x], perm=d.sample(range(len(s)), len(s)))
    if kind == 3 and len(s) < 6:
        return m.add("Unsqueeze", [x, m.ints([d.randint(-1, len(s))])])
    ones = [i for i, v in enumerate(s) if v == 1]
    return m.add("Squeeze", [x, m.ints(d.sample(ones, d.randint(1, len(ones))))]) if ones else None


def computed(m, d):
    """A target shape that the graph computes, as exporters write it."""
    x = m.pick()
    rank = len(m.shapes[x])
    shape = m.add("Shape", [x])[0]
    first = m.add("Gather", [shape, m.ints([0], scalar=True)])[0]
    first = m.add("Unsqueeze", [first, m.ints([0])])[0]
    if d.random() < 0.5:
        rest = m.add("Slice", [shape, m.ints([1]), m.ints([2 ** 63 - 1])])[0] if rank > 1 else m.ints([1])
    else:
        rest = m.ints([-1])
    target = m.add("Concat", [first, rest], axis=0)[0]
    return m.add("Reshape", [x, target])


def gather(m, d):
    x = m.pick()
    axis = d.randrange(len(m.shapes[x]))
    if d.random() < 0.5:
        return m.add("Gather", [x, m.ints([0] * d.randint(1, 4))], axis=axis)
    return m.add("Gather", [x, m.ints([0], scalar=True)], axis=axis)


def cut(m, d):
    x = m.pick()
    s = m.shapes[x]
    axes = d.sample(range(len(s)), d.randint(1, len(s)))
    steps = [d.choice([1, 1, 2, -1, -2]) for _ in axes]
    starts = [d.randint(-s[a] - 1, s[a]) if t > 0 else d.randint(0, s[a]) for a, t in zip(axes, steps)]
    ends = [d.choice([2 ** 63 - 1, d.randint(-s[a], s[a])]) if t > 0 else d.choice([-2 ** 31, 0]) for a, t in zip(axes, steps)]
    return m.add("Slice", [x, m.ints(starts), m.ints(ends), m.ints(axes), m.ints(steps)])


def parts(m, d):
    x = m.pick()
    s = m.shapes[x]
    axis = d.randrange(len(s))
    if d.random() < 0.5:
        return m.add("Concat", [x, x, m.weight(s)], axis=axis)
    if s[axis] % 2 == 0 and d.random() < 0.5:
        return m.add("Split", [x], outputs=2, axis=axis)
    if s[axis] > 1:
        return m.add("Split", [x, m.ints([1, s[axis] - 1])], outputs=2, axis=axis)
    return None


def reduce(m, d):
    x = m.pick()
    axes = d.sample(range(len(m.shapes[x])), d.randint(1, len(m.shapes[x])))
    if d.random() < 0.3:
        return m.add("ReduceSum", [x, m.ints(axes)], keepdims=d.randint(0, 1))
    if d.random() < 0.3:
        return m.add("ArgMax", [x], axis=axes[0], keepdims=d.randint(0, 1))
    return m.add(d.choice(["ReduceMean", "ReduceMax", "ReduceL2"]), [x], axes=axes, keepdims=d.randint(0, 1))


def more(m, d):
    x = m.pick()
    s = m.shapes[x]
    kind = d.randint(0, 4)
    if kind == 0:
        return m.add("Pad", [x, m.ints([d.randint(0, 2) for _ in range(2 * len(s))])])
    if kind == 1:
        return m.add("Tile", [x, m.ints([d.randint(1, 2) for _ in s])])
    if kind == 2:
        return m.add("Expand", [x, m.ints([d.choice([1, v]) for v in s])])
    if kind == 3 and len(s) == 4:
        name = m.name("s")
        m.weights.append(helper.make_tensor(name, F, [4], [1.0, 1.0, 2.0, d.choice([1.5, 2.0, 0.5])]))
        return m.add("Resize", [x, "", name])
    axis = d.randrange(len(s))
    return m.add("TopK", [x, m.ints([d.randint(1, s[axis])])], outputs=2, axis=axis)


def recurrent(m, d):
    x = m.pick(3)
    if not x:
        return None
    op, gates, hidden = d.choice([("LSTM", 4, 3), ("GRU", 3, 5), ("RNN", 1, 2)])
    both = d.random() < 0.5
    k = 2 if both else 1
    return m.add(op, [x, m.weight([k, gates * hidden, m.shapes[x][2]]), m.weight([k, gates * hidden, hidden])], outputs=2,
                 hidden_size=hidden, direction="bidirectional" if both else "forward")


def branch(m, d):
    x = m.pick()
    bodies = {}
    for which in ("then_branch", "else_branch"):
        out = m.name("b")
        node = helper.make_node(d.choice(["Relu", "Neg"]), [x], [out])
        bodies[which] = helper.make_graph([node], which, [], [helper.make_tensor_value_info(out, F, m.shapes[x])])
    name = m.name("c")
    m.weights.append(helper.make_tensor(name, TensorProto.BOOL, [], [True]))
    return m.add("If", [name], **bodies)


def embed(m, d):
    name = m.name("i")
    shape = [d.randint(1, 3), d.randint(1, 4)]
    m.weights.append(helper.make_tensor(name, I, shape, [0] * size(shape)))
    return m.add("Gather", [m.weight([7, d.randint(1, 5)]), name])


def norm(m, d):
    x = m.pick(4) or m.pick(3)
    if not x:
        return None
    c = m.shapes[x][1]
    return m.add("BatchNormalization", [x] + [m.weight([c]) for _ in range(4)])


def einsum(m, d):
    x = m.pick(3)
    return m.add("Einsum", [x, m.weight([m.shapes[x][2], 4])], equation="abc, cd -> abd") if x else None


WINDOWS = ("Conv", "ConvTranspose", "MaxPool", "AveragePool")
INDEXING = ("Slice", "Constant", "Shape", "Split")
MAKERS = [unary, binary, conv, pool, matrix, reshape, computed, gather, cut, parts, reduce, more, recurrent, branch, embed,
          norm, einsum]


def random_model(dice):
    m = Model(dice)
    for _ in range(dice.randint(3, 14)):
        before = len(m.nodes), len(m.weights)
        if not dice.choice(MAKERS)(m, dice):
            continue
        try:
            known = infer(m.made())
            if any(s < 1 for n in m.nodes[before[0]:] if n.op_type not in INDEXING for out in n.output for s in known.get(out, (0, []))[1]):
                raise ValueError("a window that does not fit")
            if any(n.op_type in WINDOWS and n.output[0] not in known for n in m.nodes[before[0]:]):
                raise ValueError("the same, of which onnx says nothing")
        except Exception:  # removes a node whose inputs do not fit together
            del m.nodes[before[0]:], m.weights[before[1]:]
            continue
        for n in m.nodes[before[0]:]:
            for out in n.output:
                if out in known and known[out][0] == F and 0 < size(known[out][1]) < 10000 and known[out][1] and len(known[out][1]) <= 6:
                    m.shapes[out] = known[out][1]
    return m.made() if m.nodes else None


# ---- the same with functions ----------------------------------------------------------------------------

OWN = "salus.test"


def reads(node):
    """All values that a node reads, including its bodies, except those that the bodies make themselves."""
    names = [i for i in node.input if i]
    for a in node.attribute:
        made = {out for n in a.g.node for out in n.output}
        names += [r for n in a.g.node for r in reads(n) if r not in made]
    return names


def refer(dice, nodes, given):
    """Turns some of the nodes' numbers into attributes of the caller, under other names."""
    for n in nodes:
        for a in n.attribute:
            if a.type not in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS) or a.ref_attr_name or dice.random() < 0.5:
                continue
            said = onnx.AttributeProto()
            said.CopyFrom(a)
            said.name = f"p{len(given)}"
            given.append(said)
            kept = a.name, a.type
            a.Clear()
            a.name, a.type = kept
            a.ref_attr_name = said.name


def outline(dice, model, number):
    """Turns consecutive nodes into a function and a call of it; sometimes calls it again. Returns the new names."""
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in model.graph.node]
    first = dice.randrange(len(nodes))
    last = min(len(nodes), first + dice.randint(1, 5))
    part, made = nodes[first:last], [out for n in nodes[first:last] for out in n.output if out]
    inputs = sorted({r for n in part for r in reads(n)} - set(made))
    later = {r for n in nodes[last:] for r in reads(n)} | {o.name for o in model.graph.output}
    outputs = [m for m in made if m in later or dice.random() < 0.3] or made[-1:]
    given = []
    refer(dice, part, given)
    imports = [helper.make_opsetid("", 13), helper.make_opsetid(OWN, 1)]
    model.functions.append(helper.make_function(OWN, f"F{number}", inputs, outputs, part, imports, [a.name for a in given]))
    calls, again = [], {}
    for copy in range(dice.choice([1, 1, 2])):
        names = outputs if copy == 0 else [f"{o}_again{number}" for o in outputs]
        if copy:
            again = dict(zip(names, outputs))
        call = helper.make_node(f"F{number}", inputs, names, name=f"call{number}_{copy}", domain=OWN)
        call.attribute.extend(given)
        calls.append(call)
    del model.graph.node[:]
    model.graph.node.extend(nodes[:first] + calls + nodes[last:])
    return again


def with_functions(dice, model):
    """A model that computes the same, and a map from its new names to the old ones."""
    m, again = onnx.ModelProto(), {}
    m.CopyFrom(model)
    m.opset_import.append(helper.make_opsetid(OWN, 1))
    for number in range(dice.randint(1, 4)):
        again.update(outline(dice, m, number))
    return m, again


def compare(model, path, known, again, counts):
    """Number of values for which the file differs from onnx's inference on the model without functions."""
    values, why = ours(path)
    if values is None:
        print(f"with functions: {why}\n{onnx.helper.printable_graph(model.graph)}")
        return 1
    wrong, outside = 0, {o for n in model.graph.node for o in n.output}
    for name, old in [*((k, k) for k in known), *again.items()]:
        while old in again:
            old = again[old]
        if old not in known or name not in values:
            continue
        counts["compared"] += 1
        counts["inside"] += name not in outside
        if values[name] != known[old]:
            print(f"with functions: {name} is {known[old]}, ours {values[name]}")
            wrong += 1
    return wrong


def ours(path):
    done = subprocess.run([f"{BUILD}/test/predict/shapes", path], capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip()
    values = {}
    for line in done.stdout.splitlines():
        name, kind, *shape = line.split(" ")
        values[name] = (int(kind), None if shape == ["?"] else [int(s) for s in shape[0].split(",")] if shape and shape[0] else [])
    return values, None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--models", type=int, default=300)
    p.add_argument("--seed", default="1")
    p.add_argument("--corpus")
    a = p.parse_args()
    compared, kinds, wrong, unfit = 0, {}, 0, 0
    counts = {"compared": 0, "inside": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        for k in range(a.models):
            model = random_model(random.Random(f"{a.seed}/{k}"))
            if model is None:
                continue
            onnx.save(model, os.path.join(a.corpus, f"random{k}.onnx") if a.corpus else path)
            with_calls, again = with_functions(random.Random(f"{a.seed}/functions/{k}"), model)
            if a.corpus:
                onnx.save(with_calls, os.path.join(a.corpus, f"functions{k}.onnx"))
                continue
            known = infer(model)
            made = {out: n.op_type for n in model.graph.node for out in n.output}
            values, why = ours(path)
            if values is None and "which is no tensor" in why:
                unfit += 1  # onnx rounds up a window that does not fit
                continue
            if values is None:
                print(f"model {k}: {why}\n{onnx.helper.printable_graph(model.graph)}")
                wrong += 1
                continue
            for name, (kind, shape) in known.items():
                if name not in made:
                    continue
                compared += 1
                kinds[made[name]] = kinds.get(made[name], 0) + 1
                if values.get(name) != (kind, shape):
                    node = next(n for n in model.graph.node if name in n.output)
                    print(f"model {k}: {name} is {kind} {shape}, ours {values.get(name)}: {onnx.helper.printable_node(node)}")
                    wrong += 1
            onnx.save(with_calls, path)
            wrong += compare(with_calls, path, {n: s for n, s in known.items() if n in made}, again, counts)
    if not a.corpus:
        print(f"check-predict: {counts['compared']} of the same with functions, {counts['inside']} of them inside")
        if counts["compared"] < 2 * compared // 3 or counts["inside"] < compared // 10:
            sys.exit("check-predict: fewer in functions than there should be")
        print(f"check-predict: {compared} shapes of {a.models} models, {len(kinds)} kinds of operators; {wrong} are not onnx's")
        if unfit > a.models // 10:
            sys.exit(f"check-predict: {unfit} models do not fit")
        if len(kinds) < 30:
            sys.exit("check-predict: fewer kinds of operators than there should be")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
