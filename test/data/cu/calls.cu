// SPDX-License-Identifier: Apache-2.0
// Calls of every kind: recursion, pointers, virtual functions, printf, assert, structures by value.
#include <cassert>
#include <cstdio>

struct Triple {
    double a;
    int b;
    char c[5];
};

struct Shape {
    __device__ virtual float area(float s) const = 0;
};
struct Square : Shape {
    __device__ float area(float s) const override { return s * s; }
};
struct Round : Shape {
    __device__ float area(float s) const override { return 3.14159f * s * s; }
};

typedef int (*Operation)(int, int);
__device__ int plus(int a, int b) {
    return a + b;
}
__device__ int times(int a, int b) {
    return a * b;
}
__device__ Operation table[2] = {plus, times};

__device__ __noinline__ Triple turn(Triple t) {
    t.b += (int)t.a;
    t.c[0] = t.c[4];
    return t;
}

__device__ __noinline__ int fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__global__ void calls(int *out, Triple t, int which) {
    Square square;
    Round round;
    const Shape *shape = which & 1 ? (const Shape *)&square : (const Shape *)&round;
    t = turn(t);
    out[0] = table[which & 1](which, 3) + fib(which);
    out[1] = (int)shape->area(which) + t.b + t.c[0];
    printf("which %d, a %f\n", which, t.a);
    assert(which < 100);
}
