/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a module of a null job's client: reads it, places its variables, and looks up each
 * of its kernels and variables.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/device/device.h"
#include "daemon/device/device_null_mode.h"
#include "test/lib/ptx/devmodule.h"

#define MIB (1ull << 20)
#define BASE 0x210000000000ull

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dev *dev;
static struct dev_space *space;

static void open_space(void) {
    static const struct dev_space_ops ops;
    struct dev_config config = {.memory_bytes = 64 * MIB, .threads = 1};
    void *host = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct dev_windows w = {BASE, 16 * MIB, 16 * MIB, (uint64_t)(uintptr_t)host, 8 * MIB, 4 * MIB};
    if (host == MAP_FAILED || dev_soft.open(&dev, &config) ||
        dev_soft.space_create(dev, &w, &ops, NULL, &space) || dev_soft.null_mode->space_null(space))
        abort();
}

/* No address that the client gets may lie outside its memory. */
static void ask(struct dev_module *m) {
    char why[256];
    for (uint32_t i = 0; i < dev_soft.func_count(m); i++) {
        struct dev_func_info info;
        struct dev_func *f;
        if (dev_soft.func_get(m, dev_soft.func_name(m, i), &f, &info, why, sizeof(why))) continue;
        if (info.regs < 1 || info.regs > 255 || info.max_threads < 1 || info.max_threads > 1024)
            abort();
        for (uint32_t p = 0; p < info.param_count; p++)
            if (info.params[p].offset + info.params[p].bytes > info.param_bytes) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char why[256];
    struct dev_module *m;
    if (!dev) open_space();
    void *image = malloc(size ? size : 1);
    if (!image) return 0;
    if (size) memcpy(image, data, size);
    if (devmodule_load(&dev_soft, space, 0, image, size, &m, why, sizeof(why)) == 0) {
        ask(m);
        devmodule_unload(&dev_soft, m);
    }
    free(image);
    if (dev_soft.mem_used(dev) > 8 * MIB) abort(); /* only a heap may be left */
    return 0;
}
