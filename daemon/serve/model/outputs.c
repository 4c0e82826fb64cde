/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs are stored in our memory until the batch is done, and then copied to a shared memory of
 * their own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/model/connection.h"
#include "daemon/serve/model/meter.h"

/* ---- one output ------------------------------------------------------------------------------ */

/* Fills in everything except data and name. `bytes` 0: computed from the shape. */
static int describe(struct salus_serve *s, struct serve_memory_tensor *t, const char *name,
                    const char *datatype, int rank, const int64_t *shape) {
    uint64_t bytes;

    t->type = datatype_find(datatype);
    if (t->type == DATATYPE_NONE)
        return connection_say(s, "output \"%.64s\": there is no datatype \"%.32s\"", name,
                              datatype);
    if (rank < 0 || rank > SALUS_SERVE_MAX_RANK)
        return connection_say(s, "output \"%.64s\" has %d dimensions, and at most %d are possible",
                              name, rank, SALUS_SERVE_MAX_RANK);
    t->rank = (uint32_t)rank;
    bytes = datatype_bytes(t->type);
    for (int i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        if (shape[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)shape[i], &bytes))
            return connection_say(s,
                                  "output \"%.64s\": dimension %d cannot be %" PRId64
                                  ": it is negative, or the output too large",
                                  name, i, shape[i]);
    }
    t->bytes = t->bytes ? t->bytes : bytes;
    return 0;
}

static int make_room(struct salus_serve *s) {
    uint32_t room = s->out_room ? 2 * s->out_room : 16;
    struct serve_memory_tensor *more;

    if (s->out_count < s->out_room) return 0;
    more = realloc(s->out, room * sizeof(*more));
    if (!more) return -ENOMEM;
    s->out = more;
    s->out_room = room;
    return 0;
}

/* Allocates zeroed data for an output and adds it to the list. */
static void *keep(struct salus_serve *s, struct serve_memory_tensor *t, const char *name) {
    void *data = NULL;

    t->name = strdup(name);
    if (!t->name || make_room(s) ||
        posix_memalign(&data, SERVE_WIRE_ALIGN, t->bytes ? t->bytes : 1)) {
        free((void *)t->name);
        connection_say(s, "out of memory for output \"%.64s\" of %" PRIu64 " bytes", name,
                       t->bytes);
        return NULL;
    }
    memset(data, 0, t->bytes);
    t->data = data;
    s->out[s->out_count++] = *t;
    return data;
}

void *salus_serve_output(struct salus_serve *s, int request, const char *name, const char *datatype,
                         int rank, const int64_t *shape, uint64_t bytes) {
    struct serve_memory_tensor t = {.request = (uint32_t)request, .bytes = bytes};

    if (connection_check(s, request) || describe(s, &t, name, datatype, rank, shape)) return NULL;
    return keep(s, &t, name);
}

/* ---- one output of all requests -------------------------------------------------------------- */

static int check_rows(struct salus_serve *s, const char *name, int rank, const int64_t *shape) {
    int64_t rows = 0, of;

    if (rank < 1)
        return connection_say(s,
                              "output \"%.64s\" has no first dimension, by which it could be "
                              "divided among the requests",
                              name);
    for (uint32_t i = 0; i < s->requests; i++) {
        of = salus_serve_rows(s, (int)i);
        if (of < 0) return -1;
        rows += of;
    }
    if (rows == shape[0]) return 0;
    return connection_say(
        s, "output \"%.64s\" has %" PRId64 " rows, but the batch's inputs have %" PRId64, name,
        shape[0], rows);
}

int salus_serve_answer(struct salus_serve *s, const char *name, const char *datatype, int rank,
                       const int64_t *shape, const void *data) {
    struct serve_memory_tensor t = {0};
    int64_t own[SALUS_SERVE_MAX_RANK];
    const char *from = data;

    if (connection_check(s, 0) || describe(s, &t, name, datatype, rank, shape)) return -1;
    if (t.type == DATATYPE_BYTES)
        return connection_say(s, "output \"%.64s\" is BYTES: answer each request by itself", name);
    if (check_rows(s, name, rank, shape)) return -1;
    memcpy(own, t.shape, sizeof(own));
    for (uint32_t i = 0; i < s->requests; i++) {
        void *to;
        own[0] = salus_serve_rows(s, (int)i);
        to = salus_serve_output(s, (int)i, name, datatype, rank, own, 0);
        if (!to) return -1;
        memcpy(to, from, s->out[s->out_count - 1].bytes);
        from += s->out[s->out_count - 1].bytes;
    }
    return 0;
}

/* ---- sending the answer ---------------------------------------------------------------------- */

int salus_serve_done(struct salus_serve *s) {
    struct serve_wire_msg m = {.kind = SERVE_WIRE_DONE};
    struct serve_memory_why why;
    int err;

    if (connection_check(s, 0)) return -1;
    m.number = s->number;
    m.device_ticks = meter_ticks(s->device_ns);
    m.requests = s->requests;
    err = serve_message_send_memory(s->fd, &m, s->out, s->out_count, &why);
    if (err)
        return connection_say(s, "cannot make the answer to batch %" PRIu64 ": %s", s->number,
                              why.text);
    connection_forget(s);
    return 0;
}
