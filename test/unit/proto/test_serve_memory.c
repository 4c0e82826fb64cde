/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch's memory: golden bytes, every truncation, every field with bad values, every seal.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "proto/serve/serve_memory.h"
#include "proto/serve/serve_memory_make.h"

#define HEAD sizeof(struct serve_wire_head)
#define ROW sizeof(struct serve_wire_tensor)
#define ROW_AT(i, member) (HEAD + (i)*ROW + offsetof(struct serve_wire_tensor, member))
#define NAMES (HEAD + 4 * ROW)
#define DATA 768u
#define BYTES (DATA + 4 * 64)

/* Tensors in another order than the memory's: two named "x" of 64 bytes, one "n", one "text". */
static char xs[2][64];
static const int32_t scalar = -2;
static const struct serve_memory_tensor given[] = {
    {1, "x", DATATYPE_INT16, 2, {4, 8}, xs[1], 64},
    {0, "text", DATATYPE_BYTES, 1, {1}, "\3\0\0\0abc", 7},
    {0, "x", DATATYPE_INT16, 2, {4, 8}, xs[0], 64},
    {1, "n", DATATYPE_INT32, 0, {0}, &scalar, 4},
};

static struct serve_memory_why why;

static int make(uint64_t *bytes) {
    memset(xs[0], 7, sizeof(xs[0]));
    memset(xs[1], 9, sizeof(xs[1]));
    int fd = serve_memory_make(given, 4, 2, bytes, &why);
    cr_assert_geq(fd, 0, "%s", why.text);
    return fd;
}

/* Returns the memory's bytes, aligned; the caller frees them. */
static unsigned char *made(void) {
    uint64_t bytes;
    int fd = make(&bytes);
    unsigned char *copy = aligned_alloc(64, 2048);

    cr_assert_eq(bytes, BYTES);
    cr_assert_eq(pread(fd, copy, 2048, 0), (ssize_t)bytes);
    close(fd);
    return copy;
}

static void put(unsigned char *at, uint64_t value, int bytes) {
    memcpy(at, &value, (size_t)bytes);
}

Test(serve_memory, golden_bytes) {
    static const struct {
        size_t at;
        int bytes;
        uint64_t value;
    } expected[] = {
        {0, 4, 0x54564453},
        {4, 4, 2},
        {8, 4, 2},
        {12, 4, 4},
        {16, 8, DATA},
        {24, 8, BYTES},
        {HEAD + 0, 4, 1}, /* n */
        {HEAD + 4, 4, 7},
        {HEAD + 8, 4, 0},
        {HEAD + 12, 4, 1},
        {HEAD + 16, 8, NAMES},
        {HEAD + 24, 8, DATA},
        {HEAD + 32, 8, 4},
        {HEAD + ROW + 0, 4, 0}, /* text */
        {HEAD + ROW + 4, 4, 13},
        {HEAD + ROW + 16, 8, NAMES + 2},
        {HEAD + ROW + 24, 8, DATA + 64},
        {HEAD + ROW + 32, 8, 7},
        {HEAD + ROW + 40, 8, 1},
        {HEAD + 2 * ROW + 0, 4, 0}, /* x */
        {HEAD + 2 * ROW + 16, 8, NAMES + 7},
        {HEAD + 2 * ROW + 24, 8, DATA + 128},
        {HEAD + 2 * ROW + 40, 8, 4},
        {HEAD + 2 * ROW + 48, 8, 8},
        {HEAD + 2 * ROW + 56, 8, 0},
        {HEAD + 3 * ROW + 0, 4, 1},
        {HEAD + 3 * ROW + 16, 8, NAMES + 7},
        {HEAD + 3 * ROW + 24, 8, DATA + 192},
        {DATA, 4, 0xfffffffe},
        {DATA + 64, 8, 0x63626100000003},
        {DATA + 128 + 60, 4, 0x07070707},
        {DATA + 192, 4, 0x09090909},
    };
    unsigned char *m = made();

    cr_assert_eq(HEAD, 32);
    cr_assert_eq(ROW, 168);
    cr_assert_eq(sizeof(struct serve_wire_msg), 256);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        cr_expect_eq(memcmp(m + expected[i].at, &expected[i].value, (size_t)expected[i].bytes), 0,
                     "at %zu", expected[i].at);
    cr_expect_eq(memcmp(m + NAMES, "n\0text\0x\0", 9), 0);
    free(m);
}

Test(serve_memory, comes_back) {
    struct serve_memory m;
    const struct serve_memory_tensor *t;
    uint64_t bytes;
    int fd = make(&bytes);

    cr_assert_eq(serve_memory_open(&m, fd, bytes, &why), 0, "%s", why.text);
    close(fd);
    cr_expect_eq(m.requests, 2);
    cr_expect_eq(m.tensors_count, 4);
    cr_expect_eq(m.groups_count, 3);
    for (int i = 0; i < 4; i++) {
        t = serve_memory_get(&m, given[i].request, given[i].name);
        cr_assert(t, "%d", i);
        cr_expect_eq(t->type, given[i].type);
        cr_expect_eq(t->rank, given[i].rank);
        cr_expect_eq(memcmp(t->shape, given[i].shape, sizeof(t->shape)), 0);
        cr_expect_eq(t->bytes, given[i].bytes);
        cr_expect_eq(memcmp(t->data, given[i].data, t->bytes), 0);
    }
    cr_expect_null(serve_memory_get(&m, 0, "n"));
    cr_expect_null(serve_memory_get(&m, 2, "x"));
    cr_expect_null(serve_memory_find(&m, "y"));
    cr_expect_eq(serve_memory_find(&m, "x")->count, 2);
    /* Tensors of consecutive requests are one array. */
    cr_expect_eq((const char *)serve_memory_get(&m, 1, "x")->data -
                     (const char *)serve_memory_get(&m, 0, "x")->data,
                 64);
    serve_memory_finish(&m);
}

/* Small memories are written at once, larger ones piece by piece: these sizes are on both sides of
 * the limit. */
Test(serve_memory, of_any_size) {
    for (uint32_t kib = 253; kib <= 259; kib++) {
        uint64_t bytes, n = (kib << 10) + 1;
        unsigned char *data = malloc(n);
        struct serve_memory m;
        for (uint64_t i = 0; i < n; i++)
            data[i] = (unsigned char)(i * 7 + i / 251);
        const struct serve_memory_tensor t[] = {{0, "a", DATATYPE_UINT8, 1, {3}, data, 3},
                                                {1, "a", DATATYPE_UINT8, 1, {5}, data, 5},
                                                {0, "b", DATATYPE_UINT8, 1, {(int64_t)n}, data, n},
                                                {1, "b", DATATYPE_UINT8, 1, {0}, data, 0}};
        int fd = serve_memory_make(t, 4, 2, &bytes, &why);
        cr_assert_geq(fd, 0, "%s", why.text);
        cr_assert_eq(serve_memory_open(&m, fd, bytes, &why), 0, "%u KiB: %s", kib, why.text);
        for (uint32_t i = 0; i < 4; i++) {
            const struct serve_memory_tensor *is = serve_memory_get(&m, t[i].request, t[i].name);
            cr_assert(is && is->bytes == t[i].bytes && !memcmp(is->data, data, is->bytes),
                      "%u KiB, tensor %u", kib, i);
        }
        serve_memory_finish(&m);
        close(fd);
        free(data);
    }
}

static void refused(const unsigned char *data, uint64_t bytes, const char *part, const char *what) {
    struct serve_memory m;
    int err = serve_memory_read(&m, data, bytes, &why);

    cr_expect_eq(err, -EINVAL, "%s: taken", what);
    cr_expect(err && strstr(why.text, part), "%s: \"%s\" without \"%s\"", what, why.text, part);
    if (!err) serve_memory_finish(&m);
}

Test(serve_memory, every_truncation) {
    unsigned char *m = made();

    for (uint64_t n = 0; n < BYTES; n++) {
        /* A copy of the exact size, so that a read beyond it is detected; also with a head that
         * agrees. */
        unsigned char *cut = aligned_alloc(64, (n + 64) & ~63ull);
        memcpy(cut, m, n);
        refused(cut, n, "", "as it is");
        if (n >= HEAD) put(cut + offsetof(struct serve_wire_head, bytes), n, 8);
        refused(cut, n, "", "with its head");
        free(cut);
    }
    free(m);
}

#define H(member) offsetof(struct serve_wire_head, member)

Test(serve_memory, every_field) {
    static const struct {
        const char *part;
        size_t at;
        int bytes;
        uint64_t value;
    } bad[] = {
        {"no such memory", H(magic), 4, 0},
        {"version 1", H(version), 2, 1},
        {"version", H(pad), 2, 1},
        {"0 requests", H(requests), 4, 0},
        {"4097 requests", H(requests), 4, 4097},
        {"of request 1 of 1", H(requests), 4, 1},
        {"0 tensors", H(tensors), 4, 0},
        {"129 tensors", H(tensors), 4, 129},
        {"4294967295 tensors", H(tensors), 4, UINT32_MAX},
        {"table of 5", H(tensors), 4, 5},
        {"data begins at 640", H(data_at), 8, 640},
        {"data begins", H(data_at), 8, DATA + 1},
        {"data begins", H(data_at), 8, UINT64_MAX - 63},
        {"within", H(data_at), 8, DATA + 64},
        {"its head says", H(bytes), 8, BYTES - 1},
        {"its head says", H(bytes), 8, UINT64_MAX},
        {"of request 2 of 2", ROW_AT(0, request), 4, 2},
        {"behind that of request 0", ROW_AT(3, request), 4, 0},
        {"behind that of request 1", ROW_AT(2, request), 4, 1},
        {"no datatype 14", ROW_AT(0, type), 4, DATATYPE_COUNT},
        {"no datatype", ROW_AT(0, type), 4, UINT32_MAX},
        {"elements of INT64", ROW_AT(0, type), 4, DATATYPE_INT64},
        {"goes beyond", ROW_AT(0, type), 4, DATATYPE_BYTES},
        {"17 dimensions", ROW_AT(0, rank), 4, 17},
        {"dimensions", ROW_AT(0, rank), 4, UINT32_MAX},
        {"0 elements", ROW_AT(0, rank), 4, 1},
        {"beyond its rank", ROW_AT(0, shape[15]), 8, 1},
        {"negative", ROW_AT(2, shape[0]), 8, UINT64_MAX},
        {"32 elements", ROW_AT(2, bytes), 8, 66},
        {"64 bits", ROW_AT(2, shape[0]), 8, UINT64_C(1) << 61},
        {"64 bits", ROW_AT(2, shape[0]), 8, UINT64_C(1) << 60},
        {"0 elements", ROW_AT(2, shape[0]), 8, 0},
        {"left behind", ROW_AT(1, shape[0]), 8, 0},
        {"element 1", ROW_AT(1, shape[0]), 8, 2},
        {"element 1", ROW_AT(1, shape[0]), 8, INT64_MAX},
        {"element 0", DATA + 64, 4, 4},
        {"element 0", DATA + 64, 4, UINT32_MAX},
        {"left behind", DATA + 64, 4, 2},
        {"between table and data", ROW_AT(0, name_bytes), 4, 256},
        {"between table and data", ROW_AT(0, name_bytes), 4, UINT32_MAX},
        {"of the 0 bytes", ROW_AT(0, name_bytes), 4, 0},
        {"of the 2 bytes", ROW_AT(0, name_bytes), 4, 2},
        {"between table and data", ROW_AT(0, name_at), 8, 0},
        {"between table and data", ROW_AT(0, name_at), 8, NAMES - 1},
        {"between table and data", ROW_AT(0, name_at), 8, DATA},
        {"between table and data", ROW_AT(0, name_at), 8, DATA - 1},
        {"between table and data", ROW_AT(0, name_at), 8, UINT64_MAX},
        {"without control characters", NAMES, 1, '\n'},
        {"without control characters", NAMES, 1, 127},
        {"no multiple of 64", ROW_AT(0, at), 8, DATA + 4},
        {"within", ROW_AT(0, at), 8, 64},
        {"within", ROW_AT(1, at), 8, DATA},
        {"beyond", ROW_AT(3, at), 8, DATA + 256},
        {"beyond", ROW_AT(3, at), 8, UINT64_MAX - 63},
        {"beyond", ROW_AT(3, bytes), 8, UINT64_MAX},
        {"beyond", ROW_AT(3, bytes), 8, 72},
        {"others lie between", ROW_AT(2, name_at), 8, NAMES},
    };
    unsigned char *m = made(), keep[8];
    char what[64];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memcpy(keep, m + bad[i].at, 8);
        put(m + bad[i].at, bad[i].value, bad[i].bytes);
        snprintf(what, sizeof(what), "%zu, at %zu", i, bad[i].at);
        refused(m, BYTES, bad[i].part, what);
        memcpy(m + bad[i].at, keep, 8);
    }
    free(m);
}

/* Any value of any byte is rejected, or leaves all accesses within their bounds. */
Test(serve_memory, every_byte) {
    static const unsigned char flips[] = {1, 0x80, 0xff, 0x3f};
    unsigned char *m = made();
    struct serve_memory r;

    for (size_t at = 0; at < DATA; at++)
        for (size_t i = 0; i < sizeof(flips); i++) {
            m[at] ^= flips[i];
            if (!serve_memory_read(&r, m, BYTES, &why)) {
                for (uint32_t k = 0; k < r.tensors_count; k++) {
                    const unsigned char *data = r.tensors[k].data;
                    cr_assert(data >= m + DATA && data + r.tensors[k].bytes <= m + BYTES);
                }
                serve_memory_finish(&r);
            } else {
                cr_expect(*why.text);
            }
            m[at] ^= flips[i];
        }
    free(m);
}

static int copy_with(int seals, off_t bytes, unsigned flags) {
    unsigned char *m = made();
    int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);

    cr_assert_eq(pwrite(fd, m, BYTES, 0), BYTES);
    cr_assert_eq(ftruncate(fd, bytes), 0);
    cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    free(m);
    return fd;
}

static void not_opened(int fd, uint64_t bytes, const char *part) {
    struct serve_memory m;
    int err = serve_memory_open(&m, fd, bytes, &why);

    cr_expect_eq(err, -EINVAL, "%s: taken", part);
    cr_expect(err && strstr(why.text, part), "\"%s\" without \"%s\"", why.text, part);
    close(fd);
}

Test(serve_memory, every_seal) {
    const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    struct serve_memory m;
    int ends[2], fd = copy_with(all, BYTES, 0);

    cr_expect_eq(serve_memory_open(&m, fd, BYTES, &why), 0, "%s", why.text);
    serve_memory_finish(&m);
    close(fd);
    not_opened(copy_with(all & ~F_SEAL_SHRINK, BYTES, 0), BYTES, "F_SEAL_SHRINK");
    not_opened(copy_with(all & ~F_SEAL_GROW, BYTES, 0), BYTES, "F_SEAL_GROW");
    not_opened(copy_with(all & ~F_SEAL_WRITE, BYTES, 0), BYTES, "F_SEAL_WRITE");
    not_opened(copy_with(all, BYTES - 1, 0), BYTES, "announced");
    not_opened(copy_with(all, BYTES, 0), BYTES - 1, "its head says");
    not_opened(copy_with(all, BYTES, 0), 0, "too few");
    not_opened(copy_with(all, BYTES, 0), UINT64_MAX, "announced");
    cr_assert_eq(pipe(ends), 0);
    close(ends[1]);
    not_opened(ends[0], BYTES, "no memfd");
}

Test(serve_memory, nothing_writes_it_any_more) {
    uint64_t bytes;
    int fd = make(&bytes);

    cr_expect_eq(pwrite(fd, "x", 1, 0), -1);
    cr_expect_eq(ftruncate(fd, 0), -1);
    cr_expect_eq(mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    cr_expect_eq(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    close(fd);
}

static void not_made(struct serve_memory_tensor *t, uint32_t count, uint32_t requests,
                     const char *part) {
    uint64_t bytes;
    int err = serve_memory_make(t, count, requests, &bytes, &why);

    cr_expect_eq(err, -EINVAL, "%s: taken", part);
    cr_expect(err < 0 && strstr(why.text, part), "\"%s\" without \"%s\"", why.text, part);
    if (err >= 0) close(err);
}

Test(serve_memory, what_cannot_be_said) {
    struct serve_memory_tensor t[4];
    char longest[257];

    memcpy(t, given, sizeof(t));
    not_made(t, 0, 2, "no tensors");
    not_made(t, 4, 0, "0 requests");
    not_made(t, 4, 4097, "4097 requests");
    not_made(t, 4, 1, "of request 1 of 1");
    t[0].request = 0;
    not_made(t, 4, 2, "request 0 has two tensors x");
    t[0].request = 1;
    t[0].bytes = 62;
    not_made(t, 4, 2, "tensor 0 (x): 62 bytes");
    t[0].bytes = 64;
    t[0].name = "";
    not_made(t, 4, 2, "tensor 0 (): its name");
    memset(longest, 'l', 256);
    longest[256] = 0;
    t[0].name = longest;
    not_made(t, 4, 2, "its name");
}

Test(serve_memory, many_names) {
    struct serve_memory_tensor t[65];
    char names[65][12];
    uint64_t bytes;

    for (int i = 0; i < 65; i++) {
        snprintf(names[i], sizeof(names[i]), "%d", i);
        t[i] = (struct serve_memory_tensor){.name = names[i], .type = DATATYPE_INT32};
        t[i].data = &scalar;
        t[i].bytes = 4;
    }
    not_made(t, 65, 2, "65 names"); /* a request may have 64, so this is rejected, too */
    int fd = serve_memory_make(t, 64, 1, &bytes, &why);
    cr_assert_geq(fd, 0, "%s", why.text);
    struct serve_memory m;
    cr_expect_eq(serve_memory_open(&m, fd, bytes, &why), 0, "%s", why.text);
    cr_expect_eq(m.groups_count, 64);
    serve_memory_finish(&m);
    close(fd);
}
