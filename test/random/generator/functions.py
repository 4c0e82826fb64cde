# SPDX-License-Identifier: Apache-2.0
"""Code that kernels call: functions with values, with pointers, recursive ones, function tables, virtual
functions; and structures."""
from generator.context import Array, Context, Object
from generator.scalars import INTS, WEIGHTS, literal
from generator.statements import Statements
from generator.tree import Block, Part, Stmt

ATTRIBUTES = {"NOINLINE": 5, "": 3, "FORCEINLINE": 1}
ALIGNMENTS = {0: 6, 16: 1, 32: 2, 64: 1, 128: 1}


class Field:
    def __init__(self, name, type_, size):
        self.name = name
        self.type = type_
        self.size = size  # size of an array; 0: a scalar


class Struct(Part):
    """A structure with a function <name>_of that makes one from a number."""

    def __init__(self, dice, name):
        self.fields = [Field(f"m{k}", dice.weighted(WEIGHTS), dice.pick((0, 0, 0, 0, 2, 4, 8)))
                       for k in range(dice.between(1, 6))]
        self.align = dice.weighted(ALIGNMENTS)
        align = f"alignas({self.align}) " if self.align else ""
        text = f"struct {align}{name} {{\n"
        text += "".join(f"{f.type} {f.name}{f'[{f.size}]' if f.size else ''};\n" for f in self.fields)
        text += f"}};\nHD inline {name} {name}_of(u32 x) {{\n{name} r;\n"
        for k, f in enumerate(self.fields):
            if f.size:
                text += f"for (u32 k = 0; k < {f.size}u; ++k) r.{f.name}[k] = ({f.type})((x >> k) + {k}u);\n"
            else:
                text += f"r.{f.name} = ({f.type})(x * {2 * k + 1}u);\n"
        super().__init__(name, text + "return r;\n}")


class Function(Part):
    """A function. `arguments`, which come after `in`, are ("scalar", type), ("struct", Struct) or ("depth", None)."""

    def __init__(self, name, type_, arguments, cost, *parts):
        super().__init__(name, *parts)
        self.type = type_
        self.arguments = arguments
        self.cost = cost
        self.depth = 0


class Table(Function):
    size = 4


class PointerFunction(Function):
    element = None
    size = 0


class Class(Part):
    derived = caller = cost = None


class Functions:
    """Generates a kernel's functions and types, each of which may use the earlier ones."""

    def __init__(self, dice, prefix):
        self.dice = dice
        self.prefix = prefix
        self.parts = []
        self.structs = []
        self.scalar_functions = []
        self.struct_functions = []
        self.pointer_functions = []
        self.tables = []
        self.classes = []

    def grow(self):
        for _ in range(self.dice.below(3)):
            self.struct()
        makers = {self.scalar: 5, self.recursive: 2, self.by_pointer: 2, self.table: 1, self.virtual: 1}
        if self.structs:
            makers[self.by_value] = 5
        for _ in range(self.dice.pick((0, 1, 1, 2, 3))):
            self.dice.weighted(makers)()

    def name(self, stem):
        return f"{self.prefix}_{stem}{len(self.parts)}"

    def give(self, context):
        """Makes all functions and types available to `context`."""
        context.scalar_functions = list(self.scalar_functions)
        context.struct_functions = list(self.struct_functions)
        context.pointer_functions = list(self.pointer_functions)
        context.tables = list(self.tables)
        context.classes = list(self.classes)

    def context(self, budget):
        context = Context(self.dice, self.prefix, budget)
        self.give(context)
        return context

    def struct(self):
        self.structs.append(Struct(self.dice, self.name("s")))
        self.parts.append(self.structs[-1])

    def declare_variables(self, context, body, count):
        """Initialized variables at the beginning of a body."""
        statements = Statements(context)
        for _ in range(count):
            t, name = self.dice.weighted(WEIGHTS | {"bool": 1}), context.fresh("v")
            value = statements.grow(t, 1)
            context.declare(t, name)
            body.add(f"{t} {name} = ", value, ";")
        if not any(context.variables.get(t) for t in INTS):
            body.add("u32 v0 = 1u;")
            context.declare("u32", "v0")

    def declare_array(self, context, body):
        t, size, name = self.dice.weighted(WEIGHTS), self.dice.pick((2, 4, 8, 16)), context.fresh("a")
        align = self.dice.weighted(ALIGNMENTS)
        k = "k"
        value = f"({t})({k} * {self.dice.between(1, 77)}u)"
        if self.dice.chance(0.5):
            value = f"({t})(in[({k} * {self.dice.between(1, 77)}u) & INPUT_MASK])"
        body.add(f"{f'alignas({align}) ' if align else ''}{t} {name}[{size}]; "
                 f"for (u32 k = 0; k < {size}u; ++k) {name}[k] = {value};")
        context.arrays.append(Array(name, t, size))
        if align > 8:
            self.check_alignment(context, body, name, align)

    def declare_object(self, context, body, struct):
        name = context.fresh("o")
        body.add(f"{struct.name} {name} = {struct.name}_of(", Statements(context).grow("u32", 1), ");")
        context.objects.append(Object(name, struct))
        if struct.align > 8:
            self.check_alignment(context, body, "&" + name, struct.align)
        return context.objects[-1]

    def check_alignment(self, context, body, address, align):
        target = Statements(context).target(("u32", "u64", "i32"))
        if target and self.dice.chance(0.6):
            body.add(f"{target[0]} += misalignment({address}, {align}u);")

    def body(self, context, size):
        """A body of declarations and statements; the caller appends the return statement."""
        body = Block()
        self.declare_variables(context, body, self.dice.between(2, 4))
        if self.dice.chance(0.35):
            self.declare_array(context, body)
        for s in self.structs:
            if self.dice.chance(0.4) or context.returns is s:
                made = self.declare_object(context, body, s)
                if context.returns is s:
                    context.result_object = made.name
        statements = Statements(context)
        for _ in range(size):
            statements.statement(body, 2)
        return body, statements

    def arguments(self, context, count):
        """Declares scalar and struct parameters in the context; returns their kinds, which callers pass, and their
        text."""
        kinds, text = [], "const u32 *in"
        for _ in range(count):
            name = context.fresh("p")
            if self.structs and self.dice.chance(0.3):
                s = self.dice.pick(self.structs)
                kinds.append(("struct", s))
                context.objects.append(Object(name, s))
                text += f", {s.name} {name}"
            else:
                t = self.dice.weighted(WEIGHTS | {"bool": 1})
                kinds.append(("scalar", t))
                context.declare(t, name)
                text += f", {t} {name}"
        return kinds, text

    def scalar(self):
        name, t = self.name("f"), self.dice.weighted(WEIGHTS)
        context = self.context(200)
        context.returns = t
        kinds, text = self.arguments(context, self.dice.between(1, 4))
        body, statements = self.body(context, self.dice.between(1, 4))
        body.add("return ", statements.grow(t, 3), ";")
        f = Function(name, t, kinds, context.cost + 5,
                     f"HD {self.dice.weighted(ATTRIBUTES)} {t} {name}({text}) ", body)
        self.scalar_functions.append(f)
        self.parts.append(f)

    def by_value(self):
        name, s = self.name("g"), self.dice.pick(self.structs)
        context = self.context(200)
        context.returns = s
        kinds, text = self.arguments(context, self.dice.between(0, 2))
        context.objects.append(Object("self", s))
        kinds, text = [("struct", s)] + kinds, text.replace("*in", f"*in, {s.name} self", 1)
        body, statements = self.body(context, self.dice.between(1, 4))
        body.add(f"return {context.result_object};")
        f = Function(name, s, kinds, context.cost + 10,
                     f"HD {self.dice.weighted(ATTRIBUTES)} {s.name} {name}({text}) ", body)
        self.struct_functions.append(f)
        self.parts.append(f)

    def recursive(self):
        """A function that calls itself once or twice."""
        name, t = self.name("r"), self.dice.weighted(WEIGHTS)
        context = self.context(60)
        context.returns = t
        kinds, text = self.arguments(context, self.dice.between(1, 2))
        text = text.replace("*in", "*in, u32 depth", 1)
        kinds = [("depth", None)] + kinds
        context.know("u32", "depth")
        calls = self.dice.between(1, 2)
        depth = 6 if calls == 1 else 3
        body, statements = self.body(context, self.dice.between(1, 2))
        body.parts.insert(0, Stmt(f"if (depth == 0) return {literal(self.dice, t)};"))
        for _ in range(calls):
            self.recurse(context, body, statements, name, t, kinds)
        body.add("return ", statements.grow(t, 2), ";")
        f = Function(name, t, kinds, (context.cost + 5) * calls ** depth, f"HD {t} {name}({text}) ", body)
        f.depth = depth
        self.scalar_functions.append(f)
        self.parts.append(f)

    def recurse(self, context, body, statements, name, t, kinds):
        self_call = Function(name, t, [k for k in kinds if k[0] != "depth"], 0)
        callee = f"{name}(in, depth - 1u"
        call = statements.expressions.invocation(self_call, "", 2)
        call.parts[0:2] = [callee]
        if not context.variables.get(t):
            body.add(f"{t} deep = 0;")
            context.declare(t, "deep")
        v = self.dice.pick(context.variables[t])
        if self.dice.chance(0.4):
            body.add("if (", statements.grow("bool", 2), f") {v} = ", call, ";")
        else:
            body.add(f"{v} = ", call, ";")

    def by_pointer(self):
        name, t, size = self.name("p"), self.dice.pick(("u32", "u64", "u8", "i16", "f32", "i32")), self.dice.pick((2, 4))
        context = self.context(200)
        context.arrays.append(Array("a", t, size))
        context.declare("u32", "x")
        body, _ = self.body(context, self.dice.between(2, 4))
        body.add(f"a[x & {size - 1}u] = ", Statements(context).grow(t, 2), ";")
        f = PointerFunction(name, "void", [], context.cost + 5,
                            f"HD {self.dice.weighted(ATTRIBUTES)} void {name}(const u32 *in, {t} *a, u32 x) ", body)
        f.element, f.size = t, size
        self.pointer_functions.append(f)
        self.parts.append(f)

    def table(self):
        """Four functions with the same signature, called through pointers."""
        t, name = self.dice.weighted(WEIGHTS), self.name("t")
        kinds = [("scalar", self.dice.weighted(WEIGHTS)) for _ in range(self.dice.between(1, 3))]
        signature = "".join(f", {k[1]} p{n}" for n, k in enumerate(kinds))
        members, parts = [], []
        cost = 0
        for k in range(4):
            context = self.context(100)
            context.returns = t
            for n, kind in enumerate(kinds):
                context.declare(kind[1], f"p{n}")
            body, statements = self.body(context, self.dice.between(0, 2))
            body.add("return ", statements.grow(t, 2), ";")
            members.append(f"{name}_{k}")
            parts += [f"HD {t} {name}_{k}(const u32 *in{signature}) ", body, "\n"]
            cost = max(cost, context.cost + 5)
        types = "".join(f", {k[1]}" for k in kinds)
        parts.append(f"typedef {t} (*{name}_type)(const u32 *{types});\n"
                     f"TABLE {name}_type {name}[4] = {{{', '.join(members)}}};")
        f = Table(name, t, kinds, cost, *parts)
        self.tables.append(f)
        self.parts.append(f)

    def virtual(self):
        """A base class and two derived ones, called through a pointer to the base."""
        name = self.name("c")
        parts, cost = [], 0
        c = Class(name)
        c.derived, c.caller = (f"{name}_x", f"{name}_y"), f"{name}_call"
        for this, base, field in ((name, None, "u32 a"), (c.derived[0], name, "i16 b"), (c.derived[1], name, "u64 c")):
            context = self.context(100)
            context.returns = "u64"
            context.declare("u32", "x")
            context.know("u32", "a")
            if base:
                context.know(*field.split())
            body, statements = self.body(context, self.dice.between(0, 2))
            body.add("return ", statements.grow("u64", 2), ";")
            head = f"struct {this} : {base}" if base else f"struct {this}"
            parts += [f"{head} {{\n{field};\nHD {'' if base else 'virtual '}u64 go(const u32 *in, u32 x) const "
                      f"{'override ' if base else ''}", body, "\n};\n"]
            cost = max(cost, context.cost + 10)
        parts.append(f"HD NOINLINE u64 {c.caller}(const u32 *in, const {name} *p, u32 x) {{\nreturn p->go(in, x);\n}}")
        c.parts, c.cost = parts, cost
        self.classes.append(c)
        self.parts.append(c)
