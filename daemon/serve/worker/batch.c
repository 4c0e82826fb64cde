/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serve/worker/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/serve/serve_message.h"

int batch_send_word(int sock, enum serve_wire_kind kind) {
    struct serve_wire_msg m = {.kind = (uint16_t)kind};

    return serve_message_send(sock, &m);
}

/* ---- a batch --------------------------------------------------------------------------------- */

static void convert(struct serve_memory_tensor *out, const struct tensor *t, uint32_t request) {
    *out = (struct serve_memory_tensor){.request = request,
                                        .name = t->name,
                                        .type = t->type,
                                        .rank = t->rank,
                                        .data = t->data,
                                        .bytes = t->bytes};
    if (t->rank <= SERVE_WIRE_MAX_RANK) memcpy(out->shape, t->shape, t->rank * sizeof(t->shape[0]));
}

/* Collects all inputs in one list for the caller to free; NULL if memory is short. */
static struct serve_memory_tensor *gather(const struct batch_request *requests, uint32_t count,
                                          uint32_t *total) {
    struct serve_memory_tensor *all;
    uint32_t next = 0;

    *total = 0;
    for (uint32_t i = 0; i < count; i++)
        *total += requests[i].count;
    all = calloc(*total + 1u, sizeof(*all));
    for (uint32_t i = 0; all && i < count; i++)
        for (uint32_t k = 0; k < requests[i].count; k++)
            convert(&all[next++], &requests[i].inputs[k], i);
    return all;
}

int batch_send(int sock, uint64_t number, const struct batch_request *requests, uint32_t count,
               struct serve_memory_why *why) {
    struct serve_wire_msg m = {.kind = SERVE_WIRE_BATCH, .number = number, .requests = count};
    uint32_t total;
    struct serve_memory_tensor *all = gather(requests, count, &total);
    int err = all ? serve_message_send_memory(sock, &m, all, total, why) : -ENOMEM;

    if (!all) serve_memory_say(why, "out of memory");
    free(all);
    return err;
}
