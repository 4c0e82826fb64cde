/* SPDX-License-Identifier: Apache-2.0
 *
 * The data is copied without alignment, as in the original.
 */
#include "daemon/serve/gateway/profile/sample.h"

#include <stdlib.h>
#include <string.h>

size_t sample_size(const struct tensor *inputs, uint32_t count) {
    size_t bytes = sizeof(struct sample) + count * sizeof(*inputs);
    for (uint32_t i = 0; i < count; i++)
        bytes += inputs[i].bytes + strlen(inputs[i].name) + 1;
    return bytes;
}

static const void *keep(char **at, const void *data, size_t bytes) {
    char *kept = *at;
    if (bytes) memcpy(kept, data, bytes);
    *at += bytes;
    return kept;
}

struct sample *sample_create(const struct tensor *inputs, uint32_t count, uint32_t app) {
    size_t bytes = sample_size(inputs, count);
    struct sample *s = malloc(bytes);
    if (!s) return NULL;
    *s = (struct sample){.app = app, .count = count, .bytes = bytes};
    char *at = (char *)&s->inputs[count];
    for (uint32_t i = 0; i < count; i++) {
        s->inputs[i] = inputs[i];
        s->inputs[i].data = keep(&at, inputs[i].data, inputs[i].bytes);
        s->inputs[i].name = keep(&at, inputs[i].name, strlen(inputs[i].name) + 1);
    }
    return s;
}

void sample_destroy(struct sample *s) {
    free(s);
}
