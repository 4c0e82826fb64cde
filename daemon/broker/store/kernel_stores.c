/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/broker/store/kernel_stores.h"

#include <stdio.h>

#include "common/log.h"

void kernel_stores_open(struct kernel_stores *s, const struct config *config, uv_loop_t *loop) {
    s->loop = loop;
    s->several = config->gpus > 1;
    s->count = 0;
    store_file_place(config->kernels, config->run_dir, s->path);
    if (!s->several) kernel_store_init(&s->items[s->count++], loop, s->path);
}

void kernel_stores_stop(struct kernel_stores *s) {
    for (unsigned i = 0; i < s->count; i++)
        kernel_store_stop(&s->items[i]);
}

void kernel_stores_finish(struct kernel_stores *s) {
    for (unsigned i = 0; i < s->count; i++)
        kernel_store_finish(&s->items[i]);
    s->count = 0;
}

struct kernel_store *kernel_stores_only(struct kernel_stores *s) {
    return s->several ? NULL : &s->items[0];
}

struct kernel_store *kernel_stores_of(struct kernel_stores *s, const char *name, uint32_t sms) {
    struct kernel_store *k;

    if (!s->several) {
        kernel_store_device(&s->items[0], name, sms);
        return &s->items[0];
    }
    for (unsigned i = 0; i < s->count; i++)
        if (kernel_store_is(&s->items[i], name, sms)) return &s->items[i];
    if (s->count == CONFIG_GPUS_MAX) {
        log_error("kernel",
                  "event=not_stored device=\"%.60s\" why=\"the store holds profiles of at most 8 "
                  "kinds of GPUs\"",
                  name);
        return NULL;
    }
    k = &s->items[s->count++];
    kernel_store_init(k, s->loop, s->path);
    k->apart = true;
    kernel_store_device(k, name, sms);
    return k;
}
