/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/broker/gpu/gpu.h"

#include "daemon/broker/config/config_gpus.h"
#include "daemon/broker/config/policy_choice.h"
#include "daemon/policy/parameters.h"

void gpu_init(struct gpu *g, uint32_t number, const struct config *config,
              struct kernel_stores *stores) {
    struct policy_config policy;

    g->number = number;
    config_gpus_apply(config, number, &g->config);
    policy_choice_read(&policy, &g->config);
    channel_init(&g->worker.channel);
    g->worker.memory_fd = -1;
    held_memory_init(&g->worker.keeping);
    attachments_init(&g->attachments, &g->config, &g->worker.channel);
    changes_init(&g->changes, &policy, &g->attachments, &g->worker);
    kernel_link_init(&g->kernels, stores, &g->worker);
}

/* The configuration overrides a request's policies only where it has changed. */
void gpu_configure(struct gpu *g, const struct config *config) {
    struct policy_config before, after;

    policy_choice_read(&before, &g->config);
    config_gpus_apply(config, g->number, &g->config);
    policy_choice_read(&after, &g->config);
    if (!parameters_same(&before, &after)) changes_configure(&g->changes, &after);
}

void gpu_opened(struct gpu *g, const struct wire_device *device) {
    g->worker.device = *device;
    g->worker.device.gpu = g->number;
    slots_unblock_all(&g->attachments.slots);
}

unsigned gpu_jobs(const struct gpu *g) {
    const struct list *pos;
    unsigned count = 0;

    list_each(pos, &g->attachments.list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        count += a->welcomed && a->client;
    }
    return count;
}
