/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes seeds: seed_fatbin <folder of fatbin> <folder of nvinfo> <folder of cubin>.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/ptx/image_build.h"

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
                          ".visible .entry k(.param .u64 p) { ret; }\n";

static void save(const char *folder, const char *name, struct buf *b) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = b->failed ? NULL : fopen(path, "wb");
    if (!f || fwrite(b->data, 1, b->len, f) != b->len || fclose(f)) {
        perror(path);
        exit(1);
    }
    buf_clear(b);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    static const struct image_param params[] = {{0, 0, 8, 0}, {1, 8, 4, 0}, {2, 16, 5000, 1}};
    const struct image_build_kernel kernels[] = {
        {"k", 32, 512, 400, {256, 1, 1}, 5016, params, 3, 0, 0},
        {"empty", 8, 0, 0, {0}, 0, NULL, 0, 0, 0},
    };
    struct buf cubin, out;
    buf_init(&cubin);
    buf_init(&out);
    image_build_cubin(&cubin, 90, kernels, 2);
    static const char *const names[] = {"plain", "lz4", "zstd"};
    for (int packing = IMAGE_PLAIN; packing <= IMAGE_ZSTD; packing++) {
        const struct image_entry entries[] = {
            {2, 90, 0, (enum image_packing)packing, cubin.data, cubin.len},
            {1, 75, 0, (enum image_packing)packing, ptx, sizeof(ptx)},
        };
        image_build_fatbin(&out, entries, 2);
        if (packing == IMAGE_ZSTD) image_build_fatbin(&out, entries, 2);
        save(argv[1], names[packing], &out);
    }
    buf_append(&out, cubin.data, cubin.len);
    save(argv[1], "cubin", &out);
    buf_append(&out, ptx, sizeof(ptx));
    save(argv[1], "ptx", &out);
    static const struct image_build_var vars[] = {{"zeros", NULL, 4096, 0, 0, 0},
                                                  {"filled", ptx, 64, 0, 0, 0},
                                                  {"both", ptx, 8, 0, 1, 0},
                                                  {"constant", ptx, 16, 1, 0, 0}};
    image_build_cubin_vars(&out, 90, kernels, 2, vars, 4);
    save(argv[3], "variables", &out);
    image_build_cubin_vars(&out, 90, kernels, 1, vars, 2);
    save(argv[3], "plain", &out);
    image_build_kernel_info(&out, &kernels[0]);
    save(argv[2], "kernel", &out);
    buf_finish(&cubin);
    buf_finish(&out);
    return 0;
}
