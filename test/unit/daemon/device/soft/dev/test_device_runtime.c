/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels' calls of CUDA's device runtime, through the device's table of operations.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/err.h"
#include "daemon/device/device.h"
#include "daemon/device/device_settings.h"
#include "test/lib/ptx/devmodule.h"
#include "test/lib/ptx/image_build.h"

#define MIB (1ull << 20)
#define BASE 0x220000000000ull
#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"

static struct dev *dev;
static struct dev_space *space;
static struct dev_queue *queue;
static struct dev_module *module;
static uint64_t *host; /* the client's memory: 4 MiB */
static char why[256], printed[4096];
static size_t printed_bytes;

static void keep_text(void *arg, int to_stderr, const char *text, size_t bytes) {
    (void)arg, (void)to_stderr;
    for (size_t i = 0; i < bytes && printed_bytes + 1 < sizeof(printed); i++)
        printed[printed_bytes++] = text[i];
}

/* The kernels' requests, and the host's answers: odd handles are invalid. */
static struct {
    struct dev_graph *from;
    uint64_t handle;
    enum dev_graph_order how;
} asked[64];
static uint32_t ask_count;

static int keep_graph(void *arg, struct dev_graph *from, uint64_t handle,
                      enum dev_graph_order how) {
    (void)arg;
    if (handle == 42) return -EAGAIN;
    if (handle & 1) return -EINVAL;
    asked[ask_count].from = from;
    asked[ask_count].handle = handle;
    asked[ask_count++].how = how;
    return 0;
}

static void open_device(uint32_t threads) {
    struct dev_config config = {.memory_bytes = 256 * MIB, .threads = threads};
    static const struct dev_space_ops ops = {.text = keep_text, .graph = keep_graph};
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    host = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct dev_windows w = {BASE, 64 * MIB, 64 * MIB, (uint64_t)(uintptr_t)host, 4 * MIB, 2 * MIB};
    cr_assert_eq(dev_soft.space_create(dev, &w, &ops, NULL, &space), 0);
    cr_assert_eq(dev_soft.queue_create(space, 0, &queue), 0);
}

static void load(const void *image, size_t bytes) {
    int err = devmodule_load(&dev_soft, space, 0, image, bytes, &module, why, sizeof(why));
    cr_assert_eq(err, 0, "%d: %s", err, why);
}

static void close_device(void) {
    devmodule_unload(&dev_soft, module);
    dev_soft.queue_destroy(queue);
    dev_soft.space_destroy(space);
    cr_assert_eq(dev_soft.mem_used(dev), 0, "memory left behind");
    dev_soft.close(dev);
    munmap(host, 4 * MIB);
}

static struct dev_op *wait_one(void) {
    struct dev_op *op;
    while (!(op = dev_soft.poll(dev))) {
        if (dev_soft.arm(dev)) continue;
        struct pollfd p = {.fd = dev_soft.event_fd(dev), .events = POLLIN};
        cr_assert_eq(poll(&p, 1, 60000), 1, "no completion in a minute");
    }
    return op;
}

/* Passes the host's memory as the first parameter, and a number. */
static uint64_t number;
static struct dev_graph *in; /* the graph that the kernel belongs to */
static int run(const char *name, uint32_t blocks, uint32_t threads, int cooperative,
               struct dev_op *op) {
    struct dev_func *f;
    struct dev_func_info info;
    int err = dev_soft.func_get(module, name, &f, &info, why, sizeof(why));
    if (err) return err;
    struct dev_launch l = {.func = f,
                           .grid = {blocks, 1, 1},
                           .block = {threads, 1, 1},
                           .cooperative = cooperative,
                           .params = (const uint64_t[]){(uint64_t)(uintptr_t)host, number},
                           .param_bytes = info.param_bytes,
                           .graph = in};
    *op = (struct dev_op){0};
    cr_assert_eq(dev_soft.launch(queue, &l, op), 0);
    cr_assert_eq(wait_one(), op);
    return op->result;
}

/* ---- grids that synchronise ------------------------------------------------------------------ */

/* Ten rounds: each block adds the sum of all blocks' counts of the round before. */
static const char cooperating[] =
    HEAD ".extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 scope);\n"
         ".extern .func (.param .b32 e) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n"
         ".visible .entry rounds(.param .u64 p)\n{\n"
         ".reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .pred %p; .param .b64 h; .param .b32 s, f, e;\n"
         "ld.param.u64 %rd1, [p]; st.param.b32 [s], 1; call (h), cudaCGGetIntrinsicHandle, (s);\n"
         "ld.param.b64 %rd2, [h]; mov.u32 %r1, 0;\n"
         "$L: red.global.add.u64 [%rd1], 1;\n"
         "st.param.b64 [h], %rd2; st.param.b32 [f], 0; call (e), cudaCGSynchronize, (h, f);\n"
         "ld.param.b32 %r2, [e]; cvt.u64.u32 %rd3, %r2; red.global.add.u64 [%rd1+8], %rd3;\n"
         "ld.volatile.global.u64 %rd4, [%rd1]; red.global.add.u64 [%rd1+16], %rd4;\n"
         "st.param.b64 [h], %rd2; call (e), cudaCGSynchronize, (h, f);\n"
         "add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 10; @%p bra $L; ret;\n}\n";

Test(device_runtime, blocks_wait_for_all_others_by_their_grids_handle) {
    enum { BLOCKS = 20, THREADS = 40, ALL = BLOCKS * THREADS };
    struct dev_op op;
    open_device(3);
    load(cooperating, sizeof(cooperating));
    cr_assert_eq(dev_soft.func_count(module), 1,
                 "the runtime's functions are none of the module's");
    cr_assert_eq(run("rounds", BLOCKS, THREADS, 1, &op), 0, "%s", op.fault_text);
    cr_assert_eq(host[0], 10 * ALL);
    cr_assert_eq(host[1], 0);
    cr_assert_eq(host[2], (uint64_t)ALL * ALL * 55, "each round saw all of its own, no more");
    host[0] = host[1] = 0;
    cr_assert_eq(run("rounds", 2, 1, 0, &op), 0, "%s", op.fault_text);
    cr_assert_eq(host[1], 2 * 10 * 999, "cudaErrorUnknown without a cooperative launch");
    close_device();
}

/* ---- nodes of graphs ------------------------------------------------------------------------- */

/* The node is at p. Parameters of the call are at p + 1024, its results at p + 2048. */
static const char noding[] =
    HEAD ".extern .func (.param .b32 e) cudaGraphKernelNodeSetParam(.param .b64 n,"
         ".param .b64 o, .param .b64 v, .param .b64 b);\n"
         ".extern .func (.param .b32 e) cudaGraphKernelNodeSetGridDim(.param .b64 n,"
         ".param .align 4 .b8 g[12]);\n"
         ".extern .func (.param .b32 e) cudaGraphKernelNodeSetEnabled(.param .b64 n,"
         ".param .b32 v);\n"
         ".extern .func (.param .b32 e) cudaGraphKernelNodeUpdatesApply(.param .b64 u,"
         ".param .b64 c);\n"
         ".visible .entry param(.param .u64 p)\n{\n.reg .b64 %rd<4>; .reg .b32 %r;\n"
         ".param .b64 n, o, v, b; .param .b32 e; ld.param.u64 %rd0, [p];\n"
         "ld.u64 %rd1, [%rd0+1024]; ld.u64 %rd2, [%rd0+1032]; add.u64 %rd3, %rd0, 1040;\n"
         "st.param.b64 [n], %rd0; st.param.b64 [o], %rd1; st.param.b64 [v], %rd3;\n"
         "st.param.b64 [b], %rd2; call (e), cudaGraphKernelNodeSetParam, (n, o, v, b);\n"
         "ld.param.b32 %r, [e]; st.u32 [%rd0+2048], %r; ret;\n}\n"
         ".visible .entry grid(.param .u64 p)\n{\n.reg .b64 %rd; .reg .b32 %r<4>;\n"
         ".param .b64 n; .param .align 4 .b8 g[12]; .param .b32 e; ld.param.u64 %rd, [p];\n"
         "ld.u32 %r1, [%rd+1024]; ld.u32 %r2, [%rd+1028]; ld.u32 %r3, [%rd+1032];\n"
         "st.param.b64 [n], %rd; st.param.b32 [g], %r1; st.param.b32 [g+4], %r2;\n"
         "st.param.b32 [g+8], %r3; call (e), cudaGraphKernelNodeSetGridDim, (n, g);\n"
         "ld.param.b32 %r0, [e]; st.u32 [%rd+2048], %r0; ret;\n}\n"
         ".visible .entry enabled(.param .u64 p)\n{\n.reg .b64 %rd; .reg .b32 %r;\n"
         ".param .b64 n; .param .b32 v, e; ld.param.u64 %rd, [p]; ld.u32 %r, [%rd+1024];\n"
         "st.param.b64 [n], %rd; st.param.b32 [v], %r;\n"
         "call (e), cudaGraphKernelNodeSetEnabled, (n, v);\n"
         "ld.param.b32 %r, [e]; st.u32 [%rd+2048], %r; ret;\n}\n"
         ".visible .entry apply(.param .u64 p, .param .u64 n)\n{\n.reg .b64 %rd<3>; .reg .b32 %r;\n"
         ".param .b64 u, c; .param .b32 e; ld.param.u64 %rd0, [p]; ld.param.u64 %rd1, [n];\n"
         "add.u64 %rd2, %rd0, 1024; st.param.b64 [u], %rd2; st.param.b64 [c], %rd1;\n"
         "call (e), cudaGraphKernelNodeUpdatesApply, (u, c);\n"
         "ld.param.b32 %r, [e]; st.u32 [%rd0+2048], %r; ret;\n}\n";

enum { NODE_ENABLED, NODE_GRID, NODE_BYTES = 4, NODE_KIND, NODE_PARAMS };

static uint32_t *words;

/* A node of 16 bytes of parameters. */
static void begin_nodes(void) {
    open_device(1);
    load(noding, sizeof(noding));
    words = (uint32_t *)host;
    words[NODE_BYTES] = 16;
    words[NODE_KIND] = 0x5361a5c3;
}

static uint32_t node_call(const char *name) {
    struct dev_op op;
    words[512] = 77;
    cr_assert_eq(run(name, 1, 1, 0, &op), 0, "%s", op.fault_text);
    return words[512];
}

static uint32_t set_param(uint64_t offset, uint64_t bytes) {
    host[128] = offset;
    host[129] = bytes;
    return node_call("param");
}

Test(device_runtime, parameters_of_a_node_are_within_it) {
    begin_nodes();
    memset(host + 130, 0xab, 64);
    cr_expect_eq(set_param(12, 4), 0);
    cr_expect_eq(words[NODE_PARAMS + 2], 0);
    cr_expect_eq(words[NODE_PARAMS + 3], 0xabababab);
    cr_expect_eq(words[NODE_PARAMS + 4], 0);
    cr_expect_eq(set_param(16, 0), 0);
    cr_expect_eq(set_param(1, 15), 0);
    cr_expect_eq(words[NODE_PARAMS], 0xababab00);
    const uint64_t wrong[][2] = {{13, 4},         {17, 0},         {0, 17},
                                 {UINT64_MAX, 1}, {1, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        cr_expect_eq(set_param(wrong[i][0], wrong[i][1]), 1, "%zu", i);
    cr_expect_eq(words[NODE_PARAMS + 4], 0);
    words[NODE_KIND]++;
    cr_expect_eq(set_param(0, 4), 1, "no node");
    close_device();
}

static uint32_t set_grid(uint32_t x, uint32_t y, uint32_t z) {
    words[256] = x;
    words[257] = y;
    words[258] = z;
    return node_call("grid");
}

Test(device_runtime, a_nodes_grid_is_one) {
    begin_nodes();
    cr_expect_eq(set_grid(0x7fffffff, 65535, 65535), 0);
    cr_expect_eq(set_grid(1, 2, 3), 0);
    cr_expect_eq(words[NODE_GRID], 1);
    cr_expect_eq(words[NODE_GRID + 1], 2);
    cr_expect_eq(words[NODE_GRID + 2], 3);
    const uint32_t wrong[][3] = {{0, 1, 1},          {1, 0, 1},     {1, 1, 0},
                                 {0x80000000, 1, 1}, {1, 65536, 1}, {1, 1, 65536}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        cr_expect_eq(set_grid(wrong[i][0], wrong[i][1], wrong[i][2]), 1, "%zu", i);
    cr_expect_eq(words[NODE_GRID], 1);
    words[NODE_KIND]++;
    cr_expect_eq(set_grid(1, 1, 1), 1, "no node");
    close_device();
}

Test(device_runtime, a_node_is_on_or_off) {
    begin_nodes();
    words[256] = 1;
    cr_expect_eq(node_call("enabled"), 0);
    cr_expect_eq(words[NODE_ENABLED], 1);
    words[256] = 0;
    cr_expect_eq(node_call("enabled"), 0);
    cr_expect_eq(words[NODE_ENABLED], 0);
    words[256] = 1;
    words[NODE_KIND]++;
    cr_expect_eq(node_call("enabled"), 1, "no node");
    cr_expect_eq(words[NODE_ENABLED], 0);
    close_device();
}

/* Sets one of several updates: 40 bytes each, from 1024 on. */
static void ask(uint32_t i, uint32_t field, uint64_t a, uint64_t b, uint64_t c) {
    const uint64_t one[5] = {(uint64_t)(uintptr_t)host, field, a, b, c};
    memcpy(host + 128 + 5 * i, one, sizeof(one));
}

Test(device_runtime, changes_of_nodes_come_in_lists) {
    begin_nodes();
    host[300] = 0x1122334455667788;
    ask(0, 3, 5, 0, 0);
    ask(1, 1, 4ull << 32 | 3, 5, 0);
    ask(2, 2, (uint64_t)(uintptr_t)(host + 300), 4, 8);
    number = 3;
    cr_expect_eq(node_call("apply"), 0);
    cr_expect_eq(words[NODE_ENABLED], 1);
    cr_expect_eq(words[NODE_GRID], 3);
    cr_expect_eq(words[NODE_GRID + 1], 4);
    cr_expect_eq(words[NODE_GRID + 2], 5);
    cr_expect_eq(words[NODE_PARAMS + 1], 0x55667788);
    cr_expect_eq(words[NODE_PARAMS + 2], 0x11223344);
    ask(0, 3, 0, 0, 0);
    ask(1, 4, 1, 1, 1); /* changes nothing of a node */
    ask(2, 3, 1, 0, 0);
    cr_expect_eq(node_call("apply"), 1);
    cr_expect_eq(words[NODE_ENABLED], 0, "the first was right");
    number = 0;
    cr_expect_eq(node_call("apply"), 0);
    close_device();
}

Test(device_runtime, many_units_are_linked) {
    enum { UNITS = 200 };
    struct buf image;
    char text[4096];
    struct dev_op op;
    buf_init(&image);
    image_build_fatbin(&image, NULL, 0);
    for (int i = 0; i <= UNITS; i++) {
        int n = snprintf(text, sizeof(text), HEAD ".visible .func f%d(.param .b64 p)\n{\n", i);
        if (i < UNITS)
            n = snprintf(text, sizeof(text),
                         HEAD ".extern .func f%d(.param .b64 p);\n"
                              ".visible .func f%d(.param .b64 p)\n{\n.param .b64 q;\n",
                         i + 1, i);
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      ".reg .b64 %%rd; ld.param.u64 %%rd, [p]; red.global.add.u64 [%%rd], 1;\n");
        if (i < UNITS)
            n += snprintf(text + n, sizeof(text) - (size_t)n,
                          "st.param.b64 [q], %%rd; call f%d, (q);\n", i + 1);
        snprintf(text + n, sizeof(text) - (size_t)n, "ret;\n}\n%s",
                 i ? ""
                   : ".visible .entry all(.param .u64 p)\n{\n.reg .b64 %rd; .param .b64 q;\n"
                     "ld.param.u64 %rd, [p]; st.param.b64 [q], %rd; call f0, (q); ret;\n}\n");
        const struct image_entry entry = {1, 75, 0, IMAGE_PLAIN, text, strlen(text) + 1};
        image_build_fatbin(&image, &entry, 1);
    }
    open_device(1);
    load(image.data, image.len);
    cr_assert_eq(run("all", 1, 1, 0, &op), 0, "%s", op.fault_text);
    cr_assert_eq(host[0], UNITS + 1);
    close_device();
    buf_finish(&image);
}

/* ---- kernels that launch kernels ------------------------------------------------------------- */

static int get(const char *name) {
    struct dev_func *f;
    struct dev_func_info info;
    return dev_soft.func_get(module, name, &f, &info, why, sizeof(why));
}

#define LAUNCHES(child)                                                                          \
    "\n{\n.reg .b64 %rd; .param .b64 k; .param .align 4 .b8 g[12]; .param .align 4 .b8 t[12];\n" \
    ".param .b32 s; .param .b64 b; mov.u64 %rd, " child "; st.param.b64 [k], %rd;\n"             \
    "call (b), __cudaCDP2GetParameterBufferV2, (k, g, t, s); ret;\n}\n"

/* clang-format off */
static const char family[] = HEAD
    ".extern .func (.param .b64 b) __cudaCDP2GetParameterBufferV2(.param .b64 k,\n"
    ".param .align 4 .b8 g[12], .param .align 4 .b8 t[12], .param .b32 s);\n"
    ".extern .func (.param .b32 e) cudaGraphKernelNodeUnknown(.param .b64 u, .param .b64 n);\n"
    ".visible .entry bad()\n{\ntcgen05.wait::ld.sync.aligned; ret;\n}\n"
    ".visible .entry good()\n{\nret;\n}\n"
    ".visible .global .align 8 .u64 table[2] = {bad, good};\n"
    ".visible .entry of_good()" LAUNCHES("good")
    ".visible .entry of_bad()" LAUNCHES("bad")
    ".visible .entry of_both()" LAUNCHES("of_bad")
    ".visible .entry of_itself()" LAUNCHES("of_itself")
    ".visible .entry of_graphs()\n{\n.param .b64 u, n; .param .b32 e;\n"
    "call (e), cudaGraphKernelNodeUnknown, (u, n); ret;\n}\n";
/* clang-format on */

Test(device_runtime, a_kernel_is_refused_for_one_that_it_names_to_launch) {
    open_device(1);
    load(family, sizeof(family));
    cr_assert_eq(get("of_good"), 0, "%s", why);
    cr_assert_eq(get("of_itself"), 0, "%s", why);
    static const char *const refused[] = {"bad", "of_bad", "of_both", "of_bad"};
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(get(refused[i]), ERR_INVALID_PTX, "%s", refused[i]);
        cr_assert(strstr(why, "bad: not supported by the software GPU"), "%s: %s", refused[i], why);
    }
    cr_assert_eq(get("of_good"), 0, "as before: %s", why);
    close_device();
}

Test(device_runtime, what_it_does_not_have_is_refused_by_name) {
    open_device(1);
    load(family, sizeof(family));
    cr_assert_eq(get("of_graphs"), ERR_NOT_FOUND);
    cr_assert(
        strstr(why,
               "cudaGraphKernelNodeUnknown is not among the calls of CUDA's device runtime here"),
        "%s", why);
    close_device();
}

Test(device_runtime, its_memory_is_there_while_a_module_may_need_it) {
    struct dev_module *other;
    open_device(1);
    load(family, sizeof(family));
    cr_assert_eq(dev_soft.mem_used(dev), 2 * 2 * MIB, "variables, and parameters of launches");
    other = module;
    load(family, sizeof(family));
    cr_assert_eq(dev_soft.mem_used(dev), 3 * 2 * MIB, "variables, and what there is once");
    devmodule_unload(&dev_soft, other);
    cr_assert_eq(get("of_good"), 0, "%s", why);
    struct dev_op op;
    cr_assert_eq(run("of_good", 1, 1, 0, &op), 0, "%s", op.fault_text);
    close_device();
}

static void load_file(const char *path) {
    static char text[1 << 18];
    FILE *f = fopen(path, "rb");
    cr_assert(f, "%s", path);
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = 0;
    load(text, n + 1);
}

/* ---- limits ---------------------------------------------------------------------------------- */

#define HEAP 2 /* CU_LIMIT_MALLOC_HEAP_SIZE */
#define PENDING 4

static int set_limit(uint32_t limit, uint64_t value) {
    uint64_t before = dev_soft.mem_used(dev);
    uint64_t most = dev_soft.settings->space_limit_bytes(space, limit, value);
    int err = dev_soft.settings->space_limit(space, limit, value);
    cr_assert_leq(dev_soft.mem_used(dev), before + most, "more than it said");
    return err;
}

/* Returns how many of `count` launches were accepted after one that cannot end. */
static uint64_t launches_taken(uint64_t count) {
    struct dev_op op;
    memset(host, 0, 64);
    number = count;
    cr_assert_eq(run("pending", 1, 1, 0, &op), 0, "%s%s", why, op.fault_text);
    cr_assert_eq(host[3], host[1]);
    cr_assert_eq(host[2], host[1] < count ? 69 : 0, "cudaErrorLaunchPendingCountExceeded");
    return host[1];
}

Test(device_runtime, pending_launches_have_the_limit_that_is_set) {
    open_device(1);
    cr_assert_eq(set_limit(PENDING, 5), 0); /* before the heap is first used */
    load_file("build/data/ptx/nested.75.ptx");
    cr_assert_eq(launches_taken(100), 4, "and the one that cannot end");
    cr_assert_eq(set_limit(PENDING, 50), 0);
    cr_assert_eq(launches_taken(100), 49);
    cr_assert_eq(launches_taken(40), 40);
    uint64_t before = dev_soft.mem_used(dev);
    cr_assert_eq(set_limit(PENDING, 20000), 0);
    cr_assert_geq(dev_soft.mem_used(dev), before + 20000 * 512, "room for their parameters");
    cr_assert_eq(launches_taken(10000), 10000);
    cr_assert_eq(set_limit(PENDING, 1ull << 40), ERR_NO_MEMORY);
    cr_assert_eq(set_limit(PENDING, UINT32_MAX), ERR_NO_MEMORY);
    cr_assert_eq(launches_taken(10000), 10000, "as before");
    cr_assert_eq(set_limit(PENDING, 3), 0);
    cr_assert_eq(launches_taken(100), 2);
    cr_assert_eq(set_limit(77, 3), -EINVAL);
    close_device();
}

/* take: allocates p[1] pieces of p[0] bytes, stores them from p[2] on and their number in p[1];
 * give: frees them; hold: sums their first words. */
static const char heaps[] = HEAD
    ".extern .func (.param .b64 a) malloc(.param .b64 n);\n.extern .func free(.param .b64 a);\n"
    ".visible .entry take(.param .u64 p)\n{\n"
    ".reg .b64 %rd<8>; .reg .pred %p<3>; .param .b64 n, a; mov.u64 %rd6, 0;\n"
    "ld.param.u64 %rd0, [p]; ld.global.u64 %rd1, [%rd0]; ld.global.u64 %rd2, [%rd0+8];\n"
    "add.u64 %rd3, %rd0, 16;\n"
    "$L: setp.eq.u64 %p0, %rd6, %rd2; @%p0 bra $E; st.param.b64 [n], %rd1; call (a), malloc, (n);\n"
    "ld.param.b64 %rd4, [a]; setp.eq.u64 %p1, %rd4, 0; @%p1 bra $E;\n"
    "st.u64 [%rd4], %rd6; st.global.u64 [%rd3], %rd4; add.u64 %rd3, %rd3, 8;\n"
    "add.u64 %rd6, %rd6, 1; bra $L; $E: st.global.u64 [%rd0+8], %rd6; ret;\n}\n"
    ".visible .entry hold(.param .u64 p)\n{\n"
    ".reg .b64 %rd<8>; .reg .pred %p; mov.u64 %rd6, 0; mov.u64 %rd5, 0;\n"
    "ld.param.u64 %rd0, [p]; ld.global.u64 %rd2, [%rd0+8]; add.u64 %rd3, %rd0, 16;\n"
    "$L: setp.eq.u64 %p, %rd6, %rd2; @%p bra $E; ld.global.u64 %rd4, [%rd3]; ld.u64 %rd7, [%rd4];\n"
    "add.u64 %rd5, %rd5, %rd7; add.u64 %rd3, %rd3, 8; add.u64 %rd6, %rd6, 1; bra $L;\n"
    "$E: st.global.u64 [%rd0], %rd5; ret;\n}\n"
    ".visible .entry give(.param .u64 p)\n{\n"
    ".reg .b64 %rd<8>; .reg .pred %p; .param .b64 a; mov.u64 %rd6, 0;\n"
    "ld.param.u64 %rd0, [p]; ld.global.u64 %rd2, [%rd0+8]; add.u64 %rd3, %rd0, 16;\n"
    "$L: setp.eq.u64 %p, %rd6, %rd2; @%p bra $E; ld.global.u64 %rd4, [%rd3];\n"
    "st.param.b64 [a], %rd4; call free, (a);\n"
    "add.u64 %rd3, %rd3, 8; add.u64 %rd6, %rd6, 1; bra $L; $E: ret;\n}\n";

/* Returns how many pieces of `kib` KiB could be allocated. */
static uint64_t take(uint64_t kib) {
    struct dev_op op;
    host[0] = kib << 10;
    host[1] = 4000;
    cr_assert_eq(run("take", 1, 1, 0, &op), 0, "%s%s", why, op.fault_text);
    return host[1];
}

static void give(void) {
    struct dev_op op;
    cr_assert_eq(run("give", 1, 1, 0, &op), 0, "%s%s", why, op.fault_text);
}

Test(device_runtime, the_heap_has_the_limit_that_is_set_before_it_is_used) {
    open_device(1);
    load(heaps, sizeof(heaps));
    cr_assert_eq(dev_soft.mem_used(dev), 8 * MIB);
    cr_assert_eq(set_limit(HEAP, 0), -EINVAL);
    cr_assert_eq(set_limit(HEAP, 1 * MIB), 0);
    cr_assert_eq(dev_soft.mem_used(dev), 8 * MIB, "less of the same");
    cr_assert_eq(set_limit(HEAP, 24 * MIB), 0);
    cr_assert_eq(set_limit(HEAP, 1ull << 40), ERR_NO_MEMORY);
    cr_assert_eq(take(512), 48);
    cr_assert_eq(set_limit(HEAP, 48 * MIB), -EINVAL, "too late");
    cr_assert_eq(set_limit(HEAP, 24 * MIB), 0, "which it has");
    struct dev_op op;
    cr_assert_eq(run("hold", 1, 1, 0, &op), 0, "%s", op.fault_text);
    cr_assert_eq(host[0], 48 * 47 / 2, "what one launch stored the next one reads");
    give();
    for (int round = 0; round < 100; round++) {
        cr_assert_eq(take(512), 48, "round %d", round);
        give();
    }
    cr_assert_eq(run("give", 1, 1, 0, &op), ERR_ILLEGAL_ADDRESS, "freed twice");
    close_device();
}

Test(device_runtime, the_heap_goes_with_the_last_that_may_use_it_if_nothing_is_in_use) {
    struct dev_module *other;
    open_device(1);
    load(heaps, sizeof(heaps));
    other = module;
    load(heaps, sizeof(heaps));
    cr_assert_eq(take(64), 128);
    devmodule_unload(&dev_soft, module);
    module = other;
    cr_assert_eq(dev_soft.mem_used(dev), 8 * MIB);
    devmodule_unload(&dev_soft, module);
    cr_assert_eq(dev_soft.mem_used(dev), 8 * MIB, "what was given out stays");
    load(heaps, sizeof(heaps));
    give();
    devmodule_unload(&dev_soft, module);
    cr_assert_eq(dev_soft.mem_used(dev), 0);
    cr_assert_eq(set_limit(HEAP, 4 * MIB), 0);
    load(heaps, sizeof(heaps));
    cr_assert_eq(dev_soft.mem_used(dev), 4 * MIB);
    close_device();
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Each thread launches graph 16 + its number into the stream that the host sets, and stores the
 * result. */
static const char launching[] =
    HEAD ".extern .func (.param .b32 e) cudaGraphLaunch(.param .b64 g, .param .b64 s);\n"
         ".visible .entry each(.param .u64 p, .param .u64 n)\n{\n"
         ".reg .b32 %r<4>; .reg .b64 %rd<6>; .param .b64 g, s; .param .b32 e;\n"
         "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [n]; mov.u32 %r1, %tid.x;\n"
         "cvt.u64.u32 %rd3, %r1; add.u64 %rd4, %rd3, 16;\n"
         "st.param.b64 [g], %rd4; st.param.b64 [s], %rd2; call (e), cudaGraphLaunch, (g, s);\n"
         "ld.param.b32 %r2, [e]; mad.wide.u32 %rd5, %r1, 8, %rd1; cvt.u64.u32 %rd4, %r2;\n"
         "st.global.u64 [%rd5], %rd4; mov.u64 %rd4, %current_graph_exec;\n"
         "st.global.u64 [%rd5+4096], %rd4; ret;\n}\n"
         ".visible .entry none(.param .u64 p, .param .u64 n)\n{\nret;\n}\n";

Test(device_runtime, a_kernel_launches_graphs) {
    struct dev_op op;
    struct dev_graph graph = {.handle = 0x5a1e};
    struct dev_func *f;
    struct dev_func_info info;
    open_device(2);
    load(launching, sizeof(launching));
    cr_assert_eq(dev_soft.func_get(module, "each", &f, &info, why, sizeof(why)), 0);
    cr_expect_eq(info.launches, DEV_LAUNCHES_GRAPHS);
    cr_assert_eq(dev_soft.func_get(module, "none", &f, &info, why, sizeof(why)), 0);
    cr_expect_eq(info.launches, 0);
    in = &graph;
    for (number = 1ull << 56; number >> 56 <= 3; number += 1ull << 56) {
        ask_count = 0;
        cr_assert_eq(run("each", 1, 28, 0, &op), 0, "%s", op.fault_text);
        cr_expect_eq(ask_count, 13);
        for (uint32_t i = 0; i < 28; i++) {
            cr_expect_eq(host[i], i & 1 ? 1u : i == 26 ? 69u : 0u, "%u: %lu", i, host[i]);
            cr_expect_eq(host[512 + i], 0x5a1e);
        }
        for (uint32_t i = 0; i < 13; i++)
            cr_expect(asked[i].from == &graph && asked[i].handle == 16 + 2 * i &&
                      asked[i].how == number >> 56);
    }
    close_device();
}

Test(device_runtime, a_kernel_launches_graphs_from_a_graph_alone) {
    static const uint64_t none[] = {0, 2, 4ull << 56, (2ull << 56) + 1, ~0ull};
    struct dev_op op;
    struct dev_graph graph = {.handle = 0};
    open_device(1);
    load(launching, sizeof(launching));
    in = &graph;
    for (uint32_t i = 0; i < 5; i++) {
        number = none[i];
        cr_assert_eq(run("each", 1, 1, 0, &op), 0);
        cr_expect_eq(host[0], 1, "stream 0x%lx", number);
    }
    in = NULL;
    number = 2ull << 56;
    cr_assert_eq(run("each", 1, 1, 0, &op), 0);
    cr_expect(host[0] == 1 && host[512] == 0);
    cr_expect_eq(ask_count, 0);
    close_device();
}
