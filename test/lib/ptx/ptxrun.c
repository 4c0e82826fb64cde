/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptxrun.h.
 */
#include "test/lib/ptx/ptxrun.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/soft/instructions/ptx_ir.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/module/code_kernel_info.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/patience.h"
#include "test/lib/ptx/inparts.h"
#include "test/lib/ptx/watched.h"

static void die(const char *what, const char *why) {
    fprintf(stderr, "ptxrun: %s: %s\n", what, why);
    abort();
}

/* Allocates pages whose end is the block's end, so that a stray host access may crash. */
static unsigned char *take_block(struct ptxrun *r, size_t bytes, size_t align) {
    if (r->block_count == sizeof(r->blocks) / sizeof(r->blocks[0])) die("alloc", "too many");
    size_t room = (bytes + 2 * 4096 + 4095) & ~(size_t)4095;
    unsigned char *p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) die("alloc", "no memory");
    r->blocks[r->block_count] = p;
    r->block_bytes[r->block_count++] = room;
    unsigned char *at = p + ((room - bytes) & ~(align - 1));
    struct ranges *ranges =
        ranges_with(r->ranges, (uint64_t)(uintptr_t)at, (uint64_t)(uintptr_t)at + bytes);
    ranges_unref(r->ranges);
    r->ranges = ranges;
    return at;
}

void *ptxrun_alloc(struct ptxrun *r, size_t bytes) {
    return take_block(r, bytes, 64);
}

static uint64_t env_alloc(void *arg, uint64_t bytes, uint64_t align) {
    struct ptxrun *r = arg;
    uint64_t at = (uint64_t)(uintptr_t)take_block(r, bytes, align);
    struct ranges *variables = ranges_with(r->variables, at, at + bytes);
    ranges_unref(r->variables);
    r->variables = variables;
    return at;
}

struct ptxrun *ptxrun_create(const char *text, size_t bytes, int may_fail) {
    struct ptxrun *r = calloc(1, sizeof(*r));
    struct ptx_module *ptx = NULL;
    struct code_env env = {.alloc = env_alloc, .arg = r};
    r->ranges = ranges_with(NULL, 0, 0);
    r->variables = ranges_with(NULL, 0, 0);
    r->slice = 100000;
    r->threads = 1;
    int err = ptx_parse(text, bytes, &ptx, r->why, sizeof(r->why));
    if (!err) {
        r->cut = inparts_load(ptx, text, bytes, &env);
        err = code_module_create(&r->module, ptx);
        if (err) ptx_module_free(ptx);
    }
    if (!err) {
        err = code_module_place(r->module, &env, r->why, sizeof(r->why));
        if (err) code_module_destroy(r->module);
        if (err) r->module = NULL;
    }
    if (err && !may_fail) die("load", r->why);
    return r;
}

struct ptxrun *ptxrun_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) die(path, "cannot be opened");
    static char text[1 << 20];
    size_t n = fread(text, 1, sizeof(text), f);
    fclose(f);
    return ptxrun_create(text, n, 0);
}

char ptxrun_what[64];

void ptxrun_each(const char *stem, void (*fn)(struct ptxrun *r)) {
    static const char *const variants[] = {"75", "80", "90", "100", "90-debug", "75-lineinfo"};
    static const char *const builds[] = {"base", "v3", "v4"};
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        if (strcmp(isa_name(), builds[b]) != 0) continue; /* not supported by this processor */
        for (size_t v = 0; v < sizeof(variants) / sizeof(variants[0]); v++) {
            char path[128];
            snprintf(path, sizeof(path), "build/data/ptx/%s.%s.ptx", stem, variants[v]);
            snprintf(ptxrun_what, sizeof(ptxrun_what), "%s.%s on %s", stem, variants[v], builds[b]);
            struct ptxrun *r = ptxrun_file(path);
            fn(r);
            ptxrun_destroy(r);
        }
    }
    unsetenv("SALUS_SOFT_ISA");
}

void ptxrun_destroy(struct ptxrun *r) {
    code_module_destroy(r->module);
    code_module_destroy(r->cut);
    heap_destroy(r->heap);
    textures_destroy(r->textures);
    if (r->runtime) runtime_finish(r->runtime);
    free(r->runtime);
    ranges_unref(r->ranges);
    ranges_unref(r->variables);
    for (uint32_t i = 0; i < r->block_count; i++)
        munmap(r->blocks[i], r->block_bytes[i]);
    free(r);
}

void ptxrun_runtime(struct ptxrun *r, uint32_t pending) {
    const uint64_t bytes = runtime_room(pending);
    const uint64_t lo = (uint64_t)(uintptr_t)ptxrun_alloc(r, bytes);
    r->runtime = calloc(1, sizeof(*r->runtime));
    runtime_set_limits(r->runtime, &(struct runtime_limits){.pending = pending});
    r->runtime->facts.sm.shared_optin_bytes = 227 << 10;
    if (runtime_init(r->runtime, lo, lo + bytes)) die("runtime", "no memory");
}

static pthread_mutex_t ptxrun_text_lock = PTHREAD_MUTEX_INITIALIZER;

static void keep_text(void *arg, int to_stderr, const char *text, size_t bytes) {
    struct ptxrun *r = arg;
    (void)to_stderr;
    pthread_mutex_lock(&ptxrun_text_lock);
    size_t room = sizeof(r->text) - 1 - r->text_len;
    if (bytes > room) bytes = room;
    memcpy(r->text + r->text_len, text, bytes);
    r->text_len += bytes;
    r->text[r->text_len] = 0;
    pthread_mutex_unlock(&ptxrun_text_lock);
}

struct ptxrun_stepper {
    struct ptxrun *run;
    struct family *family;
    uint64_t end_ns;
};

static void *run_thread(void *arg) {
    struct ptxrun_stepper *s = arg;
    uint64_t steps = 0;
    for (;;) {
        enum grid_state state = family_step(s->family, s->run->slice);
        if (state == GRID_DONE) break;
        if (fdutil_now_ns() > s->end_ns) family_cancel(s->family, ERR_CANCELLED);
        if (state == GRID_IDLE)
            sched_yield();
        else if (++steps == s->run->max_steps)
            family_cancel(s->family, ERR_CANCELLED);
    }
    __atomic_add_fetch(&s->run->steps, steps, __ATOMIC_RELAXED);
    return NULL;
}

static void run_family(struct ptxrun *r, struct family *f) {
    struct ptxrun_stepper s = {r, f, fdutil_now_ns() + patience_ms() * 1000000ull};
    pthread_t threads[16];
    for (uint32_t i = 1; i < r->threads; i++)
        pthread_create(&threads[i], NULL, run_thread, &s);
    run_thread(&s);
    for (uint32_t i = 1; i < r->threads; i++)
        pthread_join(threads[i], NULL);
}

static int run_config(struct ptxrun *r, const struct launch_config *config) {
    struct family f = {0};
    memset(&r->result, 0, sizeof(r->result));
    int err = family_begin(&f, config);
    if (err) return err;
    run_family(r, &f);
    family_result(&f, &r->result);
    family_finish(&f);
    return r->result.err;
}

/* Launches whose accesses are known may access nothing else. */
static int run_watched(struct ptxrun *r, const struct ptx_func *f, struct launch_config *config) {
    struct dev_launch launch = {.shared_bytes = config->shared_bytes,
                                .params = config->params,
                                .param_bytes = config->param_bytes};
    struct watched w;
    uint64_t at;
    memcpy(launch.grid, config->grid, sizeof(launch.grid));
    memcpy(launch.block, config->block, sizeof(launch.block));
    if (r->beside || !watched_wanted()) return run_config(r, config);
    watched_look(&w, f, &launch);
    struct ranges *seen = w.known ? watched_begin(&w, r->ranges, r->variables) : NULL;
    if (seen) config->ranges = seen;
    int err = run_config(r, config);
    if (seen && !err && !watched_end(&w, &at)) die(f->name, "it wrote what it is said not to");
    if (seen && !err && watched_harmless(&w)) {
        const struct grid_result first = r->result;
        const uint64_t steps = r->steps;
        watched_keep(&w);
        if (run_config(r, config) || !watched_same(&w, &at))
            die(f->name, "done again it is not what it was");
        r->result = first;
        r->steps = steps;
    }
    snprintf(r->touches, sizeof(r->touches), "%s",
             !w.known               ? w.why
             : watched_harmless(&w) ? "harmless"
                                    : "reads what it writes");
    watched_finish(&w);
    ranges_unref(seen);
    return err;
}

int ptxrun_launch3(struct ptxrun *r, const char *kernel, const uint32_t grid[3],
                   const uint32_t block[3], const uint64_t *params, uint32_t count) {
    struct code_kernel *k;
    struct code_kernel_info info;
    int err = code_kernel_get(r->module, kernel, &k, r->why, sizeof(r->why));
    if (err) return err;
    code_kernel_info(k, &info);
    void *room = calloc(1, launch_param_room(k, info.func->param_bytes));
    unsigned char *bytes = launch_param_place(k, room);
    for (uint32_t i = 0; i < info.func->param_count && i < count; i++) {
        const struct ptx_var *p = info.func->params[i];
        const uint64_t given = i + 1 == info.func->param_count ? 8ull * (count - i) : 8;
        memcpy(bytes + p->offset, &params[i], p->bytes < given ? p->bytes : given);
    }
    struct launch_config config = {.kernel = k,
                                   .shared_bytes = r->shared,
                                   .cooperative = r->cooperative,
                                   .params = bytes,
                                   .param_bytes = info.func->param_bytes,
                                   .ranges = r->ranges,
                                   .text = keep_text,
                                   .text_arg = r,
                                   .stack_bytes = r->stack_bytes,
                                   .heap = r->heap,
                                   .textures = r->textures,
                                   .runtime = r->runtime};
    memcpy(config.grid, grid, sizeof(config.grid));
    memcpy(config.block, block, sizeof(config.block));
    memcpy(config.cluster, r->cluster, sizeof(config.cluster));
    struct inparts parts;
    inparts_begin(&parts, r, info.func, &config);
    err = run_watched(r, info.func, &config);
    const char *wrong = inparts_end(&parts, r, &config, err, run_config);
    if (wrong) die(kernel, wrong);
    free(room);
    return err;
}

int ptxrun_launch(struct ptxrun *r, const char *kernel, uint32_t grid, uint32_t block,
                  uint32_t count, ...) {
    uint64_t params[16] = {0};
    va_list ap;
    va_start(ap, count);
    for (uint32_t i = 0; i < count && i < 16; i++)
        params[i] = va_arg(ap, uint64_t);
    va_end(ap);
    const uint32_t g[3] = {grid, 1, 1}, b[3] = {block, 1, 1};
    return ptxrun_launch3(r, kernel, g, b, params, count);
}
