/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a message to or from a model's program, with or without a descriptor: an accepted
 * message is sound, and its memory lies within the message; a rejected one gives a reason. The
 * first byte says whether magic and version are corrected, and whether there is a descriptor.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/serve/serve_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t touch(const struct serve_memory *memory) {
    uint64_t sum = 0;

    for (uint32_t i = 0; i < memory->tensors_count; i++) {
        const uint8_t *p = memory->tensors[i].data;
        for (uint64_t k = 0; k < memory->tensors[i].bytes; k++)
            sum += p[k];
    }
    return sum;
}

/* Reads the message in place and as a copy: both give the same. */
static void open_both(struct serve_message *msg) {
    struct serve_memory here, copy;
    struct serve_memory_why why[2] = {{""}, {""}};
    int err = serve_message_open(&here, msg, -1, true, &why[0]);

    if (err != serve_message_open(&copy, msg, -1, false, &why[1])) abort();
    if (strcmp(why[0].text, why[1].text) != 0 || !err != !*why[0].text) abort();
    if (err) return;
    for (uint32_t i = 0; i < here.tensors_count; i++) {
        const uint8_t *p = here.tensors[i].data;
        if (p < msg->behind || p + here.tensors[i].bytes > msg->behind + msg->m.bytes) abort();
        if (copy.tensors[i].bytes != here.tensors[i].bytes) abort();
    }
    uint64_t sum = touch(&here);
    memset(msg, 0xee, sizeof(*msg)); /* the copy does not depend on it */
    if (touch(&copy) != sum) abort();
    serve_memory_finish(&here);
    serve_memory_finish(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct serve_message *msg;
    const char *fault;
    int fd;

    if (size == 0 || size - 1 > sizeof(*msg)) return 0;
    msg = serve_message_create();
    if (!msg) return 0;
    memset(msg, 0xa5, sizeof(*msg));
    memcpy(msg, data + 1, size - 1);
    if (data[0] & 1) {
        msg->m.magic = SERVE_WIRE_MAGIC;
        msg->m.version = SERVE_WIRE_VERSION;
    }
    fd = data[0] & 2 ? 0 : -1;
    fault = serve_message_fault(msg, (int)size - 1, fd);
    if (fault && !*fault) abort();
    if (!fault && size - 1 < sizeof(msg->m)) abort();
    if (!fault && memchr(msg->m.text, 0, sizeof(msg->m.text)) == NULL) abort();
    if (!fault && fd < 0 && size - 1 > sizeof(msg->m)) {
        if (msg->m.bytes != size - 1 - sizeof(msg->m)) abort();
        open_both(msg);
    }
    free(msg);
    return 0;
}
