/* SPDX-License-Identifier: Apache-2.0
 *
 * seed_ptx DIR: writes all instructions as seeds, some in a kernel each. A kernel's instructions
 * are far apart in the table, because neighbours are often rejected for the same reason.
 */
#include <stdio.h>

#include "test/fuzz/device/ptx_table.h"

#define TOGETHER 4u

static void write_text(FILE *f, struct ptx_table_text text) {
    fwrite(text.at, 1, text.bytes, f);
}

static int write_kernel(const char *dir, uint32_t n, uint32_t kernels) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/all-%u.ptx", dir, n);
    FILE *f = fopen(path, "w");
    if (!f) return 1;
    write_text(f, ptx_table_frame());
    write_text(f, ptx_table_registers());
    for (uint32_t k = n; k < ptx_table_count(); k += kernels)
        write_text(f, ptx_table_line(k));
    write_text(f, ptx_table_end());
    /* The length determines handlers and threads in fuzz_soft. */
    fprintf(f, "%*s", (int)(n % 16), "");
    return fclose(f) != 0;
}

int main(int argc, char **argv) {
    const uint32_t kernels = (ptx_table_count() + TOGETHER - 1) / TOGETHER;
    int err = argc != 2;
    for (uint32_t n = 0; !err && n < kernels; n++)
        err = write_kernel(argv[1], n, kernels);
    if (err) fprintf(stderr, "usage: seed_ptx DIR\n");
    return err;
}
