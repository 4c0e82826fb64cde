/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader. Head, table and names are copied out once, and the copy is checked. Of the data only
 * the lengths of BYTES elements are read, which seals keep from changing.
 */
#include "proto/serve/serve_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/fdutil.h"

static uint64_t table_end(uint32_t tensors) {
    return sizeof(struct serve_wire_head) + (uint64_t)tensors * sizeof(struct serve_wire_tensor);
}

/* ---- the head -------------------------------------------------------------------------------- */

static int check_counts(const struct serve_wire_head *h, struct serve_memory_why *why) {
    if (h->requests == 0 || h->requests > SERVE_WIRE_MAX_REQUESTS)
        return serve_memory_say(why, "it is of %u requests, not of 1 to %u", h->requests,
                                SERVE_WIRE_MAX_REQUESTS);
    if (h->tensors == 0 || h->tensors > (uint64_t)h->requests * SERVE_WIRE_MAX_NAMES)
        return serve_memory_say(why, "it has %u tensors, not 1 to %u for each request", h->tensors,
                                SERVE_WIRE_MAX_NAMES);
    return 0;
}

static int check_head(const struct serve_wire_head *h, uint64_t bytes,
                      struct serve_memory_why *why) {
    uint64_t end = table_end(h->tensors), names = (uint64_t)SERVE_WIRE_MAX_NAMES * 256;
    int err;

    if (h->magic != SERVE_WIRE_MEMORY_MAGIC)
        return serve_memory_say(why, "it begins with 0x%08x, which is no such memory", h->magic);
    if (h->version != SERVE_WIRE_VERSION || h->pad)
        return serve_memory_say(why, "it is of version %u, not %u", h->version, SERVE_WIRE_VERSION);
    err = check_counts(h, why);
    if (err) return err;
    if (h->bytes != bytes)
        return serve_memory_say(why, "its head says %" PRIu64 " bytes, its message %" PRIu64,
                                h->bytes, bytes);
    if (h->data_at % SERVE_WIRE_ALIGN || h->data_at < end || h->data_at > bytes ||
        h->data_at - end > names + SERVE_WIRE_ALIGN)
        return serve_memory_say(why, "data begins at %" PRIu64 ": not behind a table of %u tensors",
                                h->data_at, h->tensors);
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static int read_name(const struct serve_memory *m, const struct serve_wire_head *h,
                     const struct serve_wire_tensor *e, const char **name,
                     struct serve_memory_why *why) {
    if (e->name_at < table_end(h->tensors) || e->name_at >= h->data_at ||
        e->name_bytes > SERVE_WIRE_MAX_NAME_BYTES || h->data_at - e->name_at <= e->name_bytes)
        return serve_memory_say(why, "its name does not lie between table and data");
    *name = (const char *)m->own + e->name_at;
    if (strnlen(*name, e->name_bytes + 1) == e->name_bytes) return 0;
    *name = NULL;
    return serve_memory_say(why, "its name is not of the %u bytes that it says", e->name_bytes);
}

/* Checks the position of a tensor's data; sets *from to where the next data may begin. */
static int check_place(const struct serve_wire_head *h, const struct serve_wire_tensor *e,
                       uint64_t *from, struct serve_memory_why *why) {
    if (e->at % SERVE_WIRE_ALIGN)
        return serve_memory_say(why, "its data begins at %" PRIu64 ", no multiple of %u", e->at,
                                SERVE_WIRE_ALIGN);
    if (e->at < *from)
        return serve_memory_say(why, "its data begins at %" PRIu64 ", within what goes before it",
                                e->at);
    if (e->at > h->bytes || e->bytes > h->bytes - e->at)
        return serve_memory_say(why, "its data ends beyond the %" PRIu64 " bytes", h->bytes);
    *from = e->at + e->bytes;
    return 0;
}

static int check_shape(const struct serve_wire_tensor *e, struct serve_memory_why *why) {
    for (uint32_t i = e->rank; i < SERVE_WIRE_MAX_RANK; i++)
        if (e->shape[i]) return serve_memory_say(why, "its shape goes on beyond its rank");
    return 0;
}

/* Adds a tensor to its group. Tensors of one name are consecutive, in order of request, so no
 * tensor is there twice. */
static int add_to_group(struct serve_memory *m, const struct serve_memory_tensor *t,
                        struct serve_memory_why *why) {
    struct serve_memory_group *last = m->groups_count ? &m->groups[m->groups_count - 1] : NULL;

    if (t->request >= m->requests)
        return serve_memory_say(why, "it is of request %u of %u", t->request, m->requests);
    if (last && strcmp(t[-1].name, t->name) == 0) {
        last->count++;
        if (t[-1].request < t->request) return 0;
        return serve_memory_say(why, "it is of request %u, behind that of request %u", t->request,
                                t[-1].request);
    }
    if (serve_memory_find(m, t->name))
        return serve_memory_say(why, "others lie between it and those of its name");
    if (m->groups_count == SERVE_WIRE_MAX_NAMES)
        return serve_memory_say(why, "more than %u names", SERVE_WIRE_MAX_NAMES);
    m->groups[m->groups_count++] = (struct serve_memory_group){(uint32_t)(t - m->tensors), 1};
    return 0;
}

static int read_tensor(struct serve_memory *m, const struct serve_wire_head *h,
                       const struct serve_wire_tensor *e, const unsigned char *data, uint64_t *from,
                       struct serve_memory_why *why) {
    struct serve_memory_tensor *t = &m->tensors[m->tensors_count];
    int err = read_name(m, h, e, &t->name, why);

    if (!err) err = check_place(h, e, from, why);
    if (err) return err;
    t->request = e->request;
    t->type = (enum datatype)e->type;
    t->rank = e->rank;
    memcpy(t->shape, e->shape, sizeof(t->shape));
    t->data = data + e->at;
    t->bytes = e->bytes;
    err = serve_memory_check(t, why);
    if (!err) err = check_shape(e, why);
    return err ? err : add_to_group(m, t, why);
}

static int read_table(struct serve_memory *m, const struct serve_wire_head *h,
                      const unsigned char *data, struct serve_memory_why *why) {
    const unsigned char *table = m->own + sizeof(*h);
    uint64_t from = h->data_at;

    for (uint32_t i = 0; i < h->tensors; i++) {
        struct serve_wire_tensor e;
        memcpy(&e, table + (size_t)i * sizeof(e), sizeof(e));
        if (read_tensor(m, h, &e, data, &from, why))
            return serve_memory_say_of(why, i, m->tensors[i].name);
        m->tensors_count++;
    }
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void *allocate(uint64_t bytes) {
    void *data = NULL;

    return posix_memalign(&data, SERVE_WIRE_ALIGN, bytes) ? NULL : data;
}

/* Reads the memory. `whole`: copies everything, so that the original is not needed any more. */
static int read_all(struct serve_memory *m, const void *data, uint64_t bytes, bool whole,
                    struct serve_memory_why *why) {
    struct serve_wire_head h;
    uint64_t own_bytes;
    int err;

    *m = (struct serve_memory){0};
    if (bytes < sizeof(h))
        return serve_memory_say(why, "%" PRIu64 " bytes are too few for a head", bytes);
    memcpy(&h, data, sizeof(h));
    err = check_head(&h, bytes, why);
    if (err) return err;
    own_bytes = whole ? bytes : h.data_at;
    m->requests = h.requests;
    m->own = allocate(own_bytes);
    m->tensors = calloc(h.tensors, sizeof(*m->tensors));
    err = m->own && m->tensors ? 0 : -ENOMEM;
    if (err) serve_memory_say(why, "out of memory");
    if (!err) {
        memcpy(m->own, data, own_bytes);
        err = read_table(m, &h, whole ? m->own : data, why);
    }
    if (err) serve_memory_finish(m);
    return err;
}

int serve_memory_read(struct serve_memory *m, const void *data, uint64_t bytes,
                      struct serve_memory_why *why) {
    return read_all(m, data, bytes, false, why);
}

int serve_memory_copy(struct serve_memory *m, const void *data, uint64_t bytes,
                      struct serve_memory_why *why) {
    return read_all(m, data, bytes, true, why);
}

/* Accepts only ordinary pages: touching a page of hugetlbfs raises SIGBUS when there is none
 * left. */
static int check_file(int fd, uint64_t bytes, struct serve_memory_why *why) {
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int seals = fcntl(fd, F_GET_SEALS);
    uint64_t has;

    if (seals < 0) return serve_memory_say(why, "what came with it is no memfd");
    if ((seals & needed) != needed)
        return serve_memory_say(why, "it can still change: F_SEAL_%s is missing",
                                !(seals & F_SEAL_SHRINK) ? "SHRINK"
                                : seals & F_SEAL_GROW    ? "WRITE"
                                                         : "GROW");
    if (fdutil_check_lasting(fd, &has))
        return serve_memory_say(why, "it is a memfd of huge pages, which can fail when read");
    if (bytes <= has) return 0;
    return serve_memory_say(why, "%" PRIu64 " bytes were announced, and there are %" PRIu64, bytes,
                            has);
}

int serve_memory_open(struct serve_memory *m, int fd, uint64_t bytes,
                      struct serve_memory_why *why) {
    void *map;
    int err = check_file(fd, bytes, why);

    if (!err && bytes < sizeof(struct serve_wire_head))
        err = serve_memory_say(why, "%" PRIu64 " bytes are too few for a head", bytes);
    if (err) return err;
    /* Private: before Linux 6.7 a shared mapping of a file sealed against writing is refused. */
    map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        err = -errno;
        serve_memory_say(why, "%" PRIu64 " bytes cannot be mapped: %s", bytes, strerror(-err));
        return err;
    }
    err = serve_memory_read(m, map, bytes, why);
    if (err) {
        munmap(map, bytes);
        return err;
    }
    m->map = map;
    m->map_bytes = bytes;
    return 0;
}

void serve_memory_finish(struct serve_memory *m) {
    if (m->map) munmap((void *)m->map, m->map_bytes);
    free(m->own);
    free(m->tensors);
    *m = (struct serve_memory){0};
}

const struct serve_memory_group *serve_memory_find(const struct serve_memory *m, const char *name) {
    for (uint32_t i = 0; i < m->groups_count; i++)
        if (strcmp(m->tensors[m->groups[i].first].name, name) == 0) return &m->groups[i];
    return NULL;
}

const struct serve_memory_tensor *serve_memory_get(const struct serve_memory *m, uint32_t request,
                                                   const char *name) {
    const struct serve_memory_group *g = serve_memory_find(m, name);
    uint32_t low = g ? g->first : 0, high = g ? g->first + g->count : 0;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (m->tensors[middle].request == request) return &m->tensors[middle];
        if (m->tensors[middle].request < request)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
