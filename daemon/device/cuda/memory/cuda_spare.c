/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/cuda/memory/cuda_spare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static uint64_t granule(const struct spares *s) {
    return s->lasting->head->granule;
}

static unsigned char *bytes_of(const struct spares *s, uint64_t index) {
    return s->lasting->spares + index * granule(s);
}

static uint64_t index_of(const struct spares *s, const void *host) {
    return (uint64_t)((const unsigned char *)host - s->lasting->spares) / granule(s);
}

/* Turns them into holes, which read as zeros and use no memory. */
static void punch(const struct spares *s, uint64_t first, uint64_t count) {
    unsigned char *at = bytes_of(s, first);
    off_t offset = (off_t)(at - (unsigned char *)s->lasting->head);
    if (fallocate(s->lasting->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                  (off_t)(count * granule(s))) < 0)
        memset(at, 0, count * granule(s));
}

int cuda_spare_open(struct spares *s, struct lasting *lasting) {
    *s = (struct spares){.lasting = lasting, .old = lasting->old};
    s->used = calloc(lasting->spare_count + 1, sizeof(*s->used));
    return s->used ? 0 : -ENOMEM;
}

void cuda_spare_close(struct spares *s) {
    free(s->used);
    *s = (struct spares){0};
}

/* Searches from behind the latest one, cyclically. */
void *cuda_spare_make(struct spares *s) {
    uint64_t count = s->lasting->spare_count;
    for (uint64_t n = 0; !s->old && n < count; n++) {
        uint64_t i = s->next;
        s->next = i + 1 < count ? i + 1 : 0;
        if (s->used[i]) continue;
        s->used[i] = true;
        return bytes_of(s, i);
    }
    return NULL;
}

void cuda_spare_free(struct spares *s, void *host) {
    if (!host) return;
    if (!s->old) punch(s, index_of(s, host), 1);
    s->used[index_of(s, host)] = false;
}

uint64_t cuda_spare_id(const struct spares *s, const void *host) {
    return s->lasting->chunk_count + index_of(s, host);
}

int cuda_spare_adopt(struct spares *s, uint64_t id, void **out) {
    uint64_t first = s->lasting->chunk_count;
    *out = NULL;
    if (id < first || id - first >= s->lasting->spare_count) return -EINVAL;
    if (s->used[id - first]) return -EEXIST;
    if (!s->old) return -ENOENT;
    s->used[id - first] = true;
    *out = bytes_of(s, id - first);
    return 0;
}

void cuda_spare_settle(struct spares *s) {
    uint64_t count = s->lasting->spare_count;
    for (uint64_t i = 0, n; s->old && i < count; i += n + 1) {
        for (n = 0; i + n < count && !s->used[i + n]; n++)
            continue;
        if (n) punch(s, i, n);
    }
    s->old = false;
}
