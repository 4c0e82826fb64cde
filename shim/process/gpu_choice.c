/* SPDX-License-Identifier: Apache-2.0
 *
 * For a number, asks salusd about one GPU; for UUIDs and for the order of the PCI bus, about all of
 * its GPUs.
 */
#include "shim/process/gpu_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/wire/job.h"
#include "shim/process/question.h"

#define LIST "CUDA_VISIBLE_DEVICES"

/* All GPUs of salusd. */
struct gpus {
    uint32_t count, order[VISIBLE_MAX];
    struct visible_gpu items[VISIBLE_MAX];
};

static struct visible_gpu gpu_of(const struct wire_device *d) {
    struct visible_gpu gpu = {
        .known = true, .pci_domain = d->pci_domain, .pci_bus = d->pci_bus, .pci_slot = d->pci_slot};
    memcpy(gpu.uuid, d->uuid, sizeof(gpu.uuid));
    return gpu;
}

/* True if a GPU without a worker causes this error. */
static bool is_silent(int err) {
    return err == ERR_WORKER_LOST || err == -ETIMEDOUT;
}

static int find_gpus(struct gpus *all) {
    struct wire_view v;

    *all = (struct gpus){0};
    for (; all->count < VISIBLE_MAX; all->count++) {
        int err = question_ask(all->count + 1, &v);

        if (err == -ENODEV) break;
        if (err && !is_silent(err)) return err;
        if (!err) all->items[all->count] = gpu_of(&v.device);
    }
    return 0;
}

static bool counts_by_pci(void) {
    const char *order = getenv("CUDA_DEVICE_ORDER");
    return order && strcmp(order, "PCI_BUS_ID") == 0;
}

static int refuse(char *why, const char *list, const char *reason) {
    snprintf(why, GPU_CHOICE_WHY_BYTES, LIST "='%.60s' %s", list, reason);
    return -ENODEV;
}

/* Makes the GPUs at positions 0 to `at` visible and chooses the last of them. */
static void take(struct gpu_choice *out, const uint32_t *order, uint32_t at) {
    out->count = at + 1;
    for (uint32_t i = 0; i <= at; i++)
        out->order[i] = (order ? order[i] : i) + 1;
    out->gpu = out->order[at];
}

/* Writes a reason such as "... and salusd has GPUs 0 to 1". */
static int refuse_missing(char *why, const char *list, uint32_t count) {
    char reason[128];

    if (count == 1)
        snprintf(reason, sizeof(reason),
                 "begins with a GPU that salusd does not have; it has only GPU 0");
    else
        snprintf(
            reason, sizeof(reason),
            "begins with a GPU that salusd does not have (it has GPUs 0 to %u), or names one twice",
            count - 1);
    return refuse(why, list, reason);
}

static int choose_among_all(struct gpu_choice *out, const struct visible *v, const char *list,
                            char *why) {
    uint32_t found[VISIBLE_MAX];
    struct gpus all;
    int err = find_gpus(&all);

    if (err) return err;
    for (uint32_t i = 0; i < all.count; i++)
        all.order[i] = i;
    if (counts_by_pci()) visible_order_by_pci(all.items, all.count, all.order);
    if (visible_match(v, all.items, all.order, all.count, found) == 0)
        return refuse_missing(why, list, all.count);
    take(out, all.order, found[0]);
    return 0;
}

static int choose_listed(struct gpu_choice *out, const struct visible *v, const char *list,
                         char *why) {
    uint32_t number = v->entries[0].number;
    struct wire_view view;

    /* In salusd's own order an existing number depends on no other GPU. */
    if (v->kind != VISIBLE_NUMBERS || counts_by_pci() || number >= VISIBLE_MAX)
        return choose_among_all(out, v, list, why);
    int err = question_ask(number + 1, &view);
    if (err == -ENODEV) return choose_among_all(out, v, list, why);
    if (err && !is_silent(err)) return err;
    take(out, NULL, number);
    return 0;
}

static int choose_visible(struct gpu_choice *out, const struct visible *v, const char *list,
                          char *why) {
    switch (v->kind) {
    case VISIBLE_ANY: return 0;
    case VISIBLE_NONE:
    case VISIBLE_UNASSIGNED: return -ENODEV;
    case VISIBLE_NUMBERS:
    case VISIBLE_UUIDS: return choose_listed(out, v, list, why);
    case VISIBLE_MIG:
        return refuse(why, list, "names a MIG instance, but Salus shares whole GPUs; name a GPU");
    case VISIBLE_TWICE:
        return refuse(why, list, "names a GPU twice, so that no GPU is visible; name each once");
    case VISIBLE_WRONG: break;
    }
    return refuse(why, list, "begins with neither a number nor a UUID; name a GPU by one of them");
}

int gpu_choice_make(struct gpu_choice *out, char why[GPU_CHOICE_WHY_BYTES]) {
    const char *list = getenv(LIST), *number = getenv(JOB_GPU_VARIABLE);
    struct visible v;

    *why = '\0';
    *out = (struct gpu_choice){.count = 1};
    visible_parse(list, &v);
    if (!number || !*number) return choose_visible(out, &v, list, why);
    int err = job_gpu(number, &out->gpu, why);
    return !err && v.kind == VISIBLE_NONE ? -ENODEV : err;
}
