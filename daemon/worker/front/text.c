/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels' output. A record is {u32 bytes, u32 to_stderr} and its text, in bytes that wrap.
 */
#include "daemon/worker/front/text.h"

#include <stdint.h>
#include <string.h>

#include "common/atomics.h"
#include "daemon/worker/client.h"

static void text_copy(char *ring, uint64_t at, const void *from, size_t bytes) {
    size_t start = at % WIRE_TEXT_BYTES, first = WIRE_TEXT_BYTES - start;
    if (first > bytes) first = bytes;
    memcpy(ring + start, from, first);
    memcpy(ring, (const char *)from + first, bytes - first);
}

static void text_put(void *arg, int to_stderr, const char *text, size_t bytes) {
    struct client *c = arg;
    uint32_t head[2] = {(uint32_t)bytes, to_stderr ? 1 : 0};
    if (bytes == 0 || bytes > WIRE_TEXT_BYTES - sizeof(head)) return;
    pthread_mutex_lock(&c->text_lock);
    uint64_t written = atom_load_relaxed(&c->com->text_written);
    /* The client's own word: a value that no honest reader stores only loses its own text. */
    uint64_t unread = written - atom_load_acquire(&c->sub->text_read);
    if (unread <= WIRE_TEXT_BYTES && WIRE_TEXT_BYTES - unread >= sizeof(head) + bytes) {
        text_copy(c->com->text, written, head, sizeof(head));
        text_copy(c->com->text, written + sizeof(head), text, bytes);
        atom_store_release(&c->com->text_written, written + sizeof(head) + bytes);
    }
    pthread_mutex_unlock(&c->text_lock);
}

const struct dev_space_ops text_ops = {.text = text_put};
