/* SPDX-License-Identifier: Apache-2.0
 *
 * Three walks over the blocks: to count bytes, to copy, to restore.
 */
#include "daemon/sched/record/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/sched_memory.h"

#define CHECKPOINT_ALIGN 64u
#define CHECKPOINT_MAX (1ull << 32) /* largest checkpoint that is read, in bytes */

#ifndef SCHED_BUILD /* defined by the makefile: a hash of the scheduler's sources */
#define SCHED_BUILD "unknown"
#endif

const char *checkpoint_build(void) {
    return SCHED_BUILD;
}

void checkpoint_finish(struct checkpoint *c) {
    free(c->data);
    *c = (struct checkpoint){0};
}

static int reserve_bytes(struct checkpoint *c, size_t bytes) {
    if (bytes <= c->cap) return 0;
    size_t cap = bytes > 2 * c->cap ? bytes : 2 * c->cap;
    unsigned char *grown = realloc(c->data, cap);
    if (!grown) return -ENOMEM;
    c->data = grown;
    c->cap = cap;
    return 0;
}

/* ---- copying -------------------------------------------------------------------------------- */

static bool count_block(void *arg, void **block, size_t bytes) {
    *(size_t *)arg += bytes;
    return true;
}

static bool copy_block(void *arg, void **block, size_t bytes) {
    struct checkpoint *c = arg;
    if (bytes) memcpy(c->data + c->bytes, *block, bytes);
    c->bytes += bytes;
    return true;
}

int checkpoint_take(struct checkpoint *c, const struct sched *s) {
    struct sched *walked = (struct sched *)s; /* these two visitors do not write */
    size_t bytes = 0;
    c->bytes = 0;
    sched_memory_walk(&walked, count_block, &bytes);
    if (reserve_bytes(c, bytes)) return -ENOMEM;
    sched_memory_walk(&walked, copy_block, c);
    return 0;
}

/* ---- restoring ------------------------------------------------------------------------------ */

struct checkpoint_source {
    const struct checkpoint *from;
    size_t at;
    int err;
};

/* Allocates the block. The pointer in the copy is meaningless and is overwritten. */
static bool put_block(void *arg, void **block, size_t bytes) {
    struct checkpoint_source *source = arg;
    *block = NULL;
    if (source->err || bytes > source->from->bytes - source->at) {
        if (!source->err) source->err = -EINVAL;
        return false;
    }
    if (bytes == 0) return true;
    *block = aligned_alloc(CHECKPOINT_ALIGN, (bytes + CHECKPOINT_ALIGN - 1) & -CHECKPOINT_ALIGN);
    if (!*block) source->err = -ENOMEM;
    if (!*block) return false;
    memcpy(*block, source->from->data + source->at, bytes);
    source->at += bytes;
    return true;
}

int checkpoint_restore(const struct checkpoint *c, struct sched **out) {
    struct checkpoint_source source = {.from = c};
    struct sched *s = NULL;
    *out = NULL;
    bool walked = sched_memory_walk(&s, put_block, &source);
    if (!walked || source.at != c->bytes || !sched_memory_restored(s))
        return source.err ? source.err : -EINVAL; /* the restored part leaks: the caller exits */
    *out = s;
    return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* FNV-1a. */
uint64_t checkpoint_hash(const struct checkpoint *c) {
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < c->bytes; i++)
        hash = (hash ^ c->data[i]) * 1099511628211ull;
    return hash;
}

static size_t run_of_zeroes(const struct checkpoint *c, size_t at) {
    static const unsigned char zeroes[CHECKPOINT_LINE];
    size_t lines = 0;
    while (at + CHECKPOINT_LINE <= c->bytes && !memcmp(c->data + at, zeroes, CHECKPOINT_LINE)) {
        at += CHECKPOINT_LINE;
        lines++;
    }
    return lines;
}

size_t checkpoint_line(const struct checkpoint *c, size_t *at, char *out) {
    static const char digits[] = "0123456789abcdef";
    size_t zeroes = run_of_zeroes(c, *at), n = 0;
    if (zeroes) {
        *at += zeroes * CHECKPOINT_LINE;
        return (size_t)snprintf(out, CHECKPOINT_TEXT, "0 %zu\n", zeroes);
    }
    if (*at == c->bytes) return 0;
    size_t end = *at + CHECKPOINT_LINE < c->bytes ? *at + CHECKPOINT_LINE : c->bytes;
    out[n++] = ':';
    for (; *at < end; ++*at) {
        out[n++] = digits[c->data[*at] >> 4];
        out[n++] = digits[c->data[*at] & 15];
    }
    out[n++] = '\n';
    out[n] = '\0';
    return n;
}

int checkpoint_read_head(struct checkpoint *c, const char *line, char build[CHECKPOINT_BUILD],
                         uint64_t *hash, size_t *bytes) {
    int end = 0;
    uint64_t all;
    c->bytes = 0;
    if (sscanf(line, "checkpoint %" SCNu64 " %31s %" SCNx64 "%n", &all, build, hash, &end) != 3 ||
        line[end] || all > CHECKPOINT_MAX)
        return -EINVAL;
    *bytes = (size_t)all;
    return 0;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_hex(struct checkpoint *c, const char *hex, size_t bytes) {
    size_t n = strlen(hex) / 2;
    if (strlen(hex) % 2 || n > CHECKPOINT_LINE || n > bytes - c->bytes) return -EINVAL;
    if (reserve_bytes(c, c->bytes + n)) return -ENOMEM;
    for (; *hex; hex += 2) {
        int high = hex_digit(hex[0]), low = hex_digit(hex[1]);
        if (high < 0 || low < 0) return -EINVAL;
        c->data[c->bytes++] = (unsigned char)(high << 4 | low);
    }
    return 0;
}

int checkpoint_read_line(struct checkpoint *c, const char *line, size_t bytes) {
    uint64_t zeroes;
    int end = 0;
    if (line[0] == ':') return read_hex(c, line + 1, bytes);
    if (sscanf(line, "0 %" SCNu64 "%n", &zeroes, &end) != 1 || line[end]) return 1;
    if (!zeroes || zeroes > (bytes - c->bytes) / CHECKPOINT_LINE) return -EINVAL;
    if (reserve_bytes(c, c->bytes + zeroes * CHECKPOINT_LINE)) return -ENOMEM;
    memset(c->data + c->bytes, 0, zeroes * CHECKPOINT_LINE);
    c->bytes += zeroes * CHECKPOINT_LINE;
    return 0;
}
