# SPDX-License-Identifier: Apache-2.0
"""The names that a piece of program may use, and the cost it may have."""


class Array:
    """An array: `name` is indexed; it may be an expression, such as a thread's part of shared memory."""

    def __init__(self, name, type_, size, writable=True):
        self.name = name
        self.type = type_
        self.size = size  # a power of two
        self.writable = writable


class Object:
    def __init__(self, name, struct):
        self.name = name
        self.struct = struct


class CommonWords:
    """Words that all threads change by the same commutative operation."""

    def __init__(self, name, type_, op, size):
        self.name = name
        self.type = type_
        self.op = op
        self.size = size


class Context:
    """The context of a function or a kernel. Costs are estimates of operations of one thread."""

    def __init__(self, dice, prefix, budget):
        self.dice = dice
        self.prefix = prefix
        self.budget = budget
        self.variables = {}  # type: names that may be assigned to
        self.constants = {}  # type: names that may only be read
        self.arrays = []
        self.objects = []
        self.scalar_functions = []  # earlier functions, by return type
        self.struct_functions = []
        self.pointer_functions = []
        self.tables = []
        self.classes = []
        self.own_words = []  # (type, address) of words that no other thread touches
        self.common_words = []
        self.returns = None  # return type of a function: a scalar's name or a Struct
        self.result_object = None
        self.in_loop = False
        self.in_switch = False
        self.trips = 1.0
        self.cost = 0.0
        self.names = 0

    def fresh(self, stem):
        self.names += 1
        return f"{stem}{self.names}"

    def spend(self, operations):
        self.cost += operations * self.trips

    def affords(self, operations):
        return self.cost + operations * self.trips < self.budget

    def readable(self, type_):
        return self.variables.get(type_, []) + self.constants.get(type_, [])

    def declare(self, type_, name):
        self.variables.setdefault(type_, []).append(name)

    def know(self, type_, name):
        self.constants.setdefault(type_, []).append(name)
