/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that nvcc writes (build/data/ptx, from test/data/cu by scripts/gen-test-ptx). Complete
 * files are accepted; truncated or damaged ones are accepted or rejected, and never read beyond
 * their end.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/ptx/ptx_text.h"

#define FILES_DIR "build/data/ptx"

static char why[160];

static struct ptx_module *file_module(const char *name) {
    char path[512];
    size_t bytes;
    struct ptx_module *m;
    snprintf(path, sizeof(path), FILES_DIR "/%s", name);
    char *text = ptx_text_file(path, &bytes);
    cr_assert_eq(ptx_text_parse(text, bytes, &m, why), 0, "%s: %s", name, why);
    free(text);
    return m;
}

/* Shared memory that the system reserves for cooperative groups; only with -G is it really used. */
static bool is_known_gap(const char *unsupported) {
    return strstr(unsupported, ": %reserved_smem_offset_");
}

/* The second part of the file's name begins with the target. */
static void check_file(const char *name) {
    struct ptx_module *m = file_module(name);
    uint32_t target = (uint32_t)atoi(strchr(name, '.') + 1), entries = 0;
    cr_assert_eq(m->target, target, "%s", name);
    cr_assert_eq(m->version, 90, "%s", name);
    for (uint32_t i = 0; i < m->func_count; i++) {
        const char *unsupported = m->funcs[i]->unsupported;
        cr_assert(!unsupported || is_known_gap(unsupported), "%s: %s: %s", name, m->funcs[i]->name,
                  unsupported);
        entries += m->funcs[i]->entry && m->funcs[i]->inst_count;
    }
    cr_assert_gt(entries, 0, "%s", name);
    ptx_module_free(m);
}

Test(ptx_files, all_are_accepted) {
    DIR *d = opendir(FILES_DIR);
    cr_assert_not_null(d, "run from the top of the repository");
    unsigned files = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len < 5 || strcmp(e->d_name + len - 4, ".ptx")) continue;
        check_file(e->d_name);
        files++;
    }
    closedir(d);
    cr_assert_geq(files, 30);
}

Test(ptx_files, facts) {
    struct ptx_module *m = file_module("kernels.90.ptx");
    struct ptx_func *f = ptx_find_func(m, "_Z5saxpyfPKfPfi");
    cr_assert(f && f->param_count == 4 && f->param_bytes == 28 && f->max_block[0] == 256);
    cr_assert_eq(ptx_find_var(m, "dynamic")->space, PTX_SHARED);
    ptx_module_free(m);
    m = file_module("data.75.ptx");
    struct ptx_var *rows = ptx_find_var(m, "rows");
    cr_assert(rows->bytes == 48 && rows->reloc_count == 1 && rows->relocs[0].at == 16);
    cr_assert_str_eq(rows->relocs[0].symbol, "counter");
    cr_assert(ptx_find_var(m, "shared_with_host")->managed);
    double pi;
    memcpy(&pi, ptx_find_var(m, "pi")->init, sizeof(pi));
    cr_assert_float_eq(pi, 3.141592653589793, 0);
    ptx_module_free(m);
    m = file_module("calls.75.ptx");
    cr_assert(!ptx_find_func(m, "vprintf")->defined);
    cr_assert_eq(ptx_find_func(m, "_Z4turn6Triple")->params[0]->bytes, 24);
    ptx_module_free(m);
}

static void cut(const char *name, size_t step) {
    char path[512];
    size_t bytes, accepted = 0;
    snprintf(path, sizeof(path), FILES_DIR "/%s", name);
    char *text = ptx_text_file(path, &bytes);
    for (size_t n = 0; n < bytes; n += step) {
        struct ptx_module *m;
        int err = ptx_text_parse(text, n, &m, why);
        cr_assert(err ? !m && strncmp(why, "line ", 5) == 0 : m != NULL, "%s cut at %zu", name, n);
        accepted += !err;
        ptx_module_free(m);
    }
    cr_assert_lt(accepted, bytes / step / 2, "most prefixes end inside something");
    free(text);
}

Test(ptx_files, prefixes) {
    cut("data.75.ptx", 1);
    cut("assembly.90-debug.ptx", 1);
    cut("calls.75-lineinfo.ptx", 7);
    cut("kernels.90-debug.ptx", 101);
    cut("half.100.ptx", 3);
}

/* Replaces one byte at a time, by a fixed sequence. */
Test(ptx_files, mutations) {
    size_t bytes;
    char *text = ptx_text_file(FILES_DIR "/calls.75.ptx", &bytes);
    uint32_t state = 12345, refused = 0;
    for (int i = 0; i < 3000; i++) {
        state = state * 1664525 + 1013904223;
        size_t at = (state >> 8) % bytes;
        char old = text[at];
        text[at] = "{}[]().,;:%0f@!|+-x$ "[state % 21];
        struct ptx_module *m;
        refused += ptx_text_parse(text, bytes, &m, why) != 0;
        ptx_module_free(m);
        text[at] = old;
    }
    cr_assert_gt(refused, 300);
    free(text);
}
