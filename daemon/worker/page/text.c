/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels' output. A record is {u32 bytes, u32 to_stderr} and its text, in bytes that wrap.
 */
#include "daemon/worker/page/text.h"

#include <stdint.h>
#include <string.h>

#include "common/atomics.h"

void text_init(struct text *t) {
    *t = (struct text){0};
    pthread_mutex_init(&t->lock, NULL);
}

void text_attach(struct text *t, struct wire_completion *page, const struct wire_submission *sub) {
    t->page = page;
    t->sub = sub;
}

void text_finish(struct text *t) {
    pthread_mutex_destroy(&t->lock);
}

static void copy_into(char *ring, uint64_t at, const void *from, size_t bytes) {
    size_t start = at % WIRE_TEXT_BYTES, first = WIRE_TEXT_BYTES - start;
    if (first > bytes) first = bytes;
    memcpy(ring + start, from, first);
    memcpy(ring, (const char *)from + first, bytes - first);
}

void text_put(struct text *t, int to_stderr, const char *text, size_t bytes) {
    uint32_t head[2] = {(uint32_t)bytes, to_stderr ? 1 : 0};
    if (bytes == 0 || bytes > WIRE_TEXT_BYTES - sizeof(head)) return;
    pthread_mutex_lock(&t->lock);
    uint64_t written = atom_load_relaxed(&t->page->text_written);
    /* The client's own word: a value that no honest reader stores only loses its own text. */
    uint64_t unread = written - atom_load_acquire(&t->sub->text_read);
    if (unread <= WIRE_TEXT_BYTES && WIRE_TEXT_BYTES - unread >= sizeof(head) + bytes) {
        copy_into(t->page->text, written, head, sizeof(head));
        copy_into(t->page->text, written + sizeof(head), text, bytes);
        atom_store_release(&t->page->text_written, written + sizeof(head) + bytes);
    }
    pthread_mutex_unlock(&t->lock);
}
