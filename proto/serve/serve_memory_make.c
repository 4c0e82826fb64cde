/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer. Everything is written by pwrite, never through a mapping. So running out of memory is
 * an error and not a SIGBUS, and no mapping prevents the last seal.
 */
#include "proto/serve/serve_memory_make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fdutil.h"

#define ONE_WRITE_BYTES (256u << 10)
_Static_assert(SERVE_WIRE_BEHIND_BYTES <= ONE_WRITE_BYTES,
               "what goes behind a message is in one piece");

struct plan {
    const struct serve_memory_tensor **order;
    uint32_t count;
    unsigned char *room;   /* has space for a message, followed by: */
    unsigned char *prefix; /* head, table and names; of a small memory also the data */
    struct serve_wire_head head;
};

static int compare(const void *a, const void *b) {
    const struct serve_memory_tensor *x = *(const struct serve_memory_tensor *const *)a;
    const struct serve_memory_tensor *y = *(const struct serve_memory_tensor *const *)b;
    int names = strcmp(x->name, y->name);

    if (names) return names;
    return (x->request > y->request) - (x->request < y->request);
}

/* ---- invalid batches ------------------------------------------------------------------------- */

static int check_each(const struct serve_memory_tensor *tensors, uint32_t count, uint32_t requests,
                      struct serve_memory_why *why) {
    if (requests == 0 || requests > SERVE_WIRE_MAX_REQUESTS)
        return serve_memory_say(why, "%u requests; 1 to %u go together", requests,
                                SERVE_WIRE_MAX_REQUESTS);
    if (count == 0) return serve_memory_say(why, "there are no tensors");
    for (uint32_t i = 0; i < count; i++) {
        if (serve_memory_check(&tensors[i], why))
            return serve_memory_say_of(why, i, tensors[i].name);
        if (tensors[i].request < requests) continue;
        serve_memory_say(why, "it is of request %u of %u", tensors[i].request, requests);
        return serve_memory_say_of(why, i, tensors[i].name);
    }
    return 0;
}

static int check_order(const struct plan *p, struct serve_memory_why *why) {
    uint32_t names = 1;

    for (uint32_t i = 1; i < p->count; i++) {
        if (compare(&p->order[i - 1], &p->order[i]) == 0)
            return serve_memory_say(why, "request %u has two tensors %.100s", p->order[i]->request,
                                    p->order[i]->name);
        names += strcmp(p->order[i - 1]->name, p->order[i]->name) != 0;
    }
    if (names <= SERVE_WIRE_MAX_NAMES) return 0;
    return serve_memory_say(why, "%u names; %u is the most", names, SERVE_WIRE_MAX_NAMES);
}

/* ---- layout ---------------------------------------------------------------------------------- */

static uint64_t align(uint64_t at) {
    return (at + SERVE_WIRE_ALIGN - 1) & ~(uint64_t)(SERVE_WIRE_ALIGN - 1);
}

static int is_same_name(const struct plan *p, uint32_t i) {
    return i > 0 && strcmp(p->order[i - 1]->name, p->order[i]->name) == 0;
}

static uint64_t table_end(const struct plan *p) {
    return sizeof(struct serve_wire_head) + (uint64_t)p->count * sizeof(struct serve_wire_tensor);
}

static int measure(struct plan *p, uint32_t requests) {
    uint64_t at = table_end(p);

    for (uint32_t i = 0; i < p->count; i++)
        if (!is_same_name(p, i)) at += strlen(p->order[i]->name) + 1;
    p->head = (struct serve_wire_head){.magic = SERVE_WIRE_MEMORY_MAGIC,
                                       .version = SERVE_WIRE_VERSION,
                                       .requests = requests,
                                       .tensors = p->count,
                                       .data_at = align(at)};
    at = p->head.data_at;
    for (uint32_t i = 0; i < p->count; i++)
        if (__builtin_add_overflow(align(at), p->order[i]->bytes, &at) || at > INT64_MAX / 2)
            return -EFBIG;
    p->head.bytes = at;
    return 0;
}

static void fill(struct plan *p) {
    uint64_t name_at = table_end(p), next_at = name_at, at = p->head.data_at;

    memcpy(p->prefix, &p->head, sizeof(p->head));
    for (uint32_t i = 0; i < p->count; i++) {
        const struct serve_memory_tensor *t = p->order[i];
        struct serve_wire_tensor e = {.request = t->request,
                                      .type = t->type,
                                      .rank = t->rank,
                                      .name_bytes = (uint32_t)strlen(t->name),
                                      .at = align(at),
                                      .bytes = t->bytes};
        if (!is_same_name(p, i)) {
            name_at = next_at;
            memcpy(p->prefix + name_at, t->name, e.name_bytes);
            next_at += e.name_bytes + 1;
        }
        e.name_at = name_at;
        memcpy(e.shape, t->shape, t->rank * sizeof(t->shape[0]));
        memcpy(p->prefix + sizeof(p->head) + (size_t)i * sizeof(e), &e, sizeof(e));
        at = e.at + e.bytes;
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

static int write_at(int fd, const void *data, uint64_t bytes, uint64_t at) {
    const unsigned char *from = data;

    while (bytes > 0) {
        ssize_t n = pwrite(fd, from, bytes, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? -errno : -EIO;
        from += n;
        at += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

/* Most batches are small, and a copy costs less than a system call for each tensor. */
static bool is_small(const struct plan *p) {
    return p->head.bytes <= ONE_WRITE_BYTES;
}

static void copy_data(struct plan *p) {
    uint64_t at = p->head.data_at;

    for (uint32_t i = 0; i < p->count; i++) {
        if (p->order[i]->bytes)
            memcpy(p->prefix + align(at), p->order[i]->data, p->order[i]->bytes);
        at = align(at) + p->order[i]->bytes;
    }
}

static int write_all(int fd, const struct plan *p) {
    uint64_t at = p->head.data_at;

    if (is_small(p)) return write_at(fd, p->prefix, p->head.bytes, 0);
    if (ftruncate(fd, (off_t)p->head.bytes) < 0) return -errno;
    int err = write_at(fd, p->prefix, p->head.data_at, 0);
    for (uint32_t i = 0; i < p->count && !err; i++) {
        err = write_at(fd, p->order[i]->data, p->order[i]->bytes, align(at));
        at = align(at) + p->order[i]->bytes;
    }
    return err;
}

static int make_file(const struct plan *p) {
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    int err, fd = memfd_create("salus-batch", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0) return -errno;
    err = write_all(fd, p);
    if (!err && fcntl(fd, F_ADD_SEALS, seals) < 0) err = -errno;
    if (err) fdutil_close(&fd);
    return err ? err : fd;
}

static int fill_room(struct plan *p, uint32_t requests) {
    int err = measure(p, requests);

    if (err) return err;
    p->room =
        calloc(1, sizeof(struct serve_wire_msg) + (is_small(p) ? p->head.bytes : p->head.data_at));
    if (!p->room) return -ENOMEM;
    p->prefix = p->room + sizeof(struct serve_wire_msg);
    fill(p);
    if (is_small(p)) copy_data(p);
    return 0;
}

static int lay_out(struct plan *p, const struct serve_memory_tensor *tensors, uint32_t requests,
                   struct serve_memory_why *why) {
    int err = check_each(tensors, p->count, requests, why);

    if (err) return err;
    p->order = calloc(p->count, sizeof(*p->order));
    if (!p->order) {
        serve_memory_say(why, "out of memory");
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < p->count; i++)
        p->order[i] = &tensors[i];
    qsort(p->order, p->count, sizeof(*p->order), compare);
    err = check_order(p, why);
    if (err) return err;
    err = fill_room(p, requests);
    if (err) serve_memory_say(why, "its memory cannot be made: %s", strerror(-err));
    return err;
}

static int finish_as_file(const struct plan *p, struct serve_memory_why *why) {
    int fd = make_file(p);

    if (fd < 0) serve_memory_say(why, "its memory cannot be made: %s", strerror(-fd));
    return fd;
}

int serve_memory_make(const struct serve_memory_tensor *tensors, uint32_t count, uint32_t requests,
                      uint64_t *bytes, struct serve_memory_why *why) {
    struct plan p = {.count = count};
    int err = lay_out(&p, tensors, requests, why);

    if (!err) err = finish_as_file(&p, why);
    *bytes = p.head.bytes;
    free(p.order);
    free(p.room);
    return err;
}

/* ---- parcels --------------------------------------------------------------------------------- */

int serve_memory_pack(struct serve_memory_parcel *out, const struct serve_memory_tensor *tensors,
                      uint32_t count, uint32_t requests, struct serve_memory_why *why) {
    struct plan p = {.count = count};
    int err = lay_out(&p, tensors, requests, why);

    *out = (struct serve_memory_parcel){.fd = -1};
    if (!err && p.head.bytes <= SERVE_WIRE_BEHIND_BYTES) {
        out->message = p.room;
        p.room = NULL;
    } else if (!err) {
        out->fd = finish_as_file(&p, why);
        err = out->fd < 0 ? out->fd : 0;
    }
    out->bytes = p.head.bytes;
    free(p.order);
    free(p.room);
    return err;
}

int serve_memory_parcel_close(struct serve_memory_parcel *parcel) {
    struct plan p = {.prefix = parcel->message + sizeof(struct serve_wire_msg),
                     .head.bytes = parcel->bytes};
    int fd = make_file(&p);

    if (fd < 0) return fd;
    free(parcel->message);
    parcel->message = NULL;
    parcel->fd = fd;
    return 0;
}

void serve_memory_parcel_finish(struct serve_memory_parcel *p) {
    free(p->message);
    fdutil_close(&p->fd);
    *p = (struct serve_memory_parcel){.fd = -1};
}
