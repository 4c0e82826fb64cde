/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA_VISIBLE_DEVICES, read as NVIDIA's driver reads it: a list of numbers, or of beginnings of
 * UUIDs. The first entry that is none, or that means no GPU, ends the list; a GPU that is named
 * twice makes none visible. Pure.
 */
#ifndef SHIM_PROCESS_VISIBLE_H
#define SHIM_PROCESS_VISIBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/uuid.h"

#define VISIBLE_MAX 64 /* entries that are read, and GPUs to choose from */

enum visible_kind {
    VISIBLE_ANY,        /* the variable is not set: nobody has chosen */
    VISIBLE_NONE,       /* meant to hide every GPU: empty, or a negative number */
    VISIBLE_UNASSIGNED, /* NoDevFiles: Slurm has assigned no GPU */
    VISIBLE_NUMBERS,    /* `number` of each entry */
    VISIBLE_UUIDS,      /* `uuid` of each entry */
    VISIBLE_MIG,        /* the first entry names a part of a GPU */
    VISIBLE_TWICE,      /* a number is there twice */
    VISIBLE_WRONG,      /* the first entry is nothing of all this */
};

struct visible_entry {
    uint32_t number;
    char uuid[UUID_TEXT_BYTES]; /* a beginning that uuid_may_begin allows */
};

struct visible {
    enum visible_kind kind;
    uint32_t count; /* at least 1 of NUMBERS and UUIDS; else 0 */
    struct visible_entry entries[VISIBLE_MAX];
};

/* `list`: the variable's value; NULL: it is not set. */
void visible_parse(const char *list, struct visible *out);

/* A GPU, as far as it is chosen by that. */
struct visible_gpu {
    bool known; /* the rest is: its worker has said it */
    uint8_t uuid[16];
    uint32_t pci_domain, pci_bus, pci_slot;
};

/* `order` becomes the numbers 0 to count - 1 of the GPUs, by their place on the PCI bus; those that
 * are not known come last. */
void visible_order_by_pci(const struct visible_gpu *gpus, uint32_t count, uint32_t *order);

/* Positions in `order` of the GPUs that are visible, in that order, into out[VISIBLE_MAX]: how many
 * they are. `list` is of NUMBERS or UUIDS. */
uint32_t visible_match(const struct visible *list, const struct visible_gpu *gpus,
                       const uint32_t *order, uint32_t count, uint32_t *out);

#endif
