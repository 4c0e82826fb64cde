/* SPDX-License-Identifier: Apache-2.0
 * Checks whether module variables get the same addresses when another worker loads the module
 * again. Only then do a job's pointers to them stay valid. */
#include <inttypes.h>

#include "scripts/device-probes/probe.h"

enum { MODULES = 6 };

/* Loads a module with a variable whose size depends on i. */
static CUmodule load(int i) {
    char text[512];
    CUmodule m;
    snprintf(text, sizeof(text),
             ".version 7.0\n.target sm_75\n.address_size 64\n"
             ".visible .global .align 256 .b8 variable[%d];\n.visible .entry e() { ret; }\n",
             1 << (6 + 3 * i));
    TRY(cu.cuModuleLoadData(&m, text));
    return m;
}

static uint64_t address(CUmodule m) {
    CUdeviceptr at;
    size_t bytes;
    TRY(cu.cuModuleGetGlobal_v2(&at, &bytes, m, "variable"));
    return at;
}

static const char *const hidden_names[] = {"$str", "table"};

/* Tells what the driver answers for variables without linkage, such as strings and constants. */
static void hidden(int peer, void *arg) {
    static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                               ".global .align 1 .b8 $str[4] = {65, 66, 67, 0};\n"
                               ".const .align 4 .b8 table[16] = {1, 2, 3, 4};\n"
                               ".visible .entry e(.param .u64 p) {\n.reg .b64 %r<4>;\n"
                               ".reg .b32 %v;\nld.param.u64 %r1, [p];\nmov.u64 %r2, $str;\n"
                               "cvta.global.u64 %r3, %r2;\nst.global.u64 [%r1], %r3;\n"
                               "ld.const.u32 %v, [table];\nst.global.u32 [%r1+8], %v;\nret;\n}\n";
    CUmodule m;
    (void)arg;
    probe_driver_open();
    TRY(cu.cuModuleLoadData(&m, text));
    for (int i = 0; i < 2; i++) {
        CUdeviceptr at;
        size_t bytes;
        probe_tell(peer, cu.cuModuleGetGlobal_v2(&at, &bytes, m, hidden_names[i]));
    }
}

/* Tells the address of each variable. With `arg`, other memory is allocated first. */
static void loader(int peer, void *arg) {
    CUdeviceptr p;
    CUmodule m[MODULES];
    probe_driver_open();
    if (arg) TRY(cu.cuMemAlloc_v2(&p, 40 << 20));
    for (int i = 0; i < MODULES; i++) {
        m[i] = load(i);
        probe_tell(peer, address(m[i]));
    }
    TRY(cu.cuModuleUnload(m[2]));
    probe_tell(peer, address(load(2))); /* shows whether the module gets its old place */
    probe_hear(peer);
}

static struct probe_child start(bool allocates, uint64_t *at) {
    struct probe_child c = probe_fork(loader, allocates ? at : NULL);
    for (int i = 0; i <= MODULES; i++)
        at[i] = probe_hear(c.peer);
    return c;
}

static void end(struct probe_child *c) {
    probe_tell(c->peer, 0);
    probe_join(c, 30);
}

static int equal(const uint64_t *a, const uint64_t *b) {
    int n = 0;
    for (int i = 0; i < MODULES; i++)
        n += a[i] == b[i];
    return n;
}

int main(void) {
    uint64_t first[MODULES + 1], beside[MODULES + 1], after[MODULES + 1], other[MODULES + 1];
    probe_begin("module_variables", "Where do module variables lie, and do they lie there in the "
                                    "next process that loads the same modules?");
    struct probe_child h = probe_fork(hidden, NULL);
    for (int i = 0; i < 2; i++)
        probe_fact(i ? "hidden_constant" : "hidden_string", "%s",
                   probe_hear(h.peer) ? "its place is not told" : "its place is told");
    probe_join(&h, 30);
    struct probe_child a = start(false, first), b = start(false, beside);
    end(&a);
    end(&b);
    struct probe_child c = start(false, after);
    end(&c);
    struct probe_child d = start(true, other);
    end(&d);
    for (int i = 0; i < MODULES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "variable_%d", i);
        probe_fact(name,
                   "%" PRIx64 ", beside %" PRIx64 ", after %" PRIx64
                   ", after an allocation %" PRIx64,
                   first[i], beside[i], after[i], other[i]);
    }
    probe_figure(equal(first, beside), "of 6", "equal_in_a_process_beside");
    probe_figure(equal(first, after), "of 6", "equal_in_a_process_after");
    probe_figure(equal(first, other), "of 6", "equal_after_another_allocation");
    probe_fact("unloaded_and_loaded_again", "%s",
               first[MODULES] == first[2] ? "the same address" : "another address");
    return probe_end(true, "%d of %d at equal addresses in the next process", equal(first, after),
                     (int)MODULES);
}
