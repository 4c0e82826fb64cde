/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA_VISIBLE_DEVICES, read as NVIDIA's driver reads it: a list of numbers, or of beginnings of
 * UUIDs. The first invalid entry, or one that names no GPU, ends the list. A GPU named twice makes
 * none visible. Pure.
 */
#ifndef SHIM_PROCESS_VISIBLE_H
#define SHIM_PROCESS_VISIBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/uuid.h"

#define VISIBLE_MAX 64 /* most entries that are read, and most GPUs */

enum visible_kind {
    VISIBLE_ANY,        /* the variable is not set */
    VISIBLE_NONE,       /* hides every GPU on purpose: empty, or a negative number */
    VISIBLE_UNASSIGNED, /* NoDevFiles: Slurm has assigned no GPU */
    VISIBLE_NUMBERS,    /* `number` of each entry is set */
    VISIBLE_UUIDS,      /* `uuid` of each entry is set */
    VISIBLE_MIG,        /* the first entry names a part of a GPU */
    VISIBLE_TWICE,      /* a number occurs twice */
    VISIBLE_WRONG,      /* the first entry is invalid */
};

struct visible_entry {
    uint32_t number;
    char uuid[UUID_TEXT_BYTES]; /* a prefix that uuid_may_begin accepts */
};

struct visible {
    enum visible_kind kind;
    uint32_t count; /* at least 1 for NUMBERS and UUIDS; else 0 */
    struct visible_entry entries[VISIBLE_MAX];
};

/* `list`: the variable's value; NULL: it is not set. */
void visible_parse(const char *list, struct visible *out);

/* The facts about a GPU by which it can be chosen. */
struct visible_gpu {
    bool known; /* the worker has reported the members below */
    uint8_t uuid[16];
    uint32_t pci_domain, pci_bus, pci_slot;
};

/* Sets `order` to the numbers 0 to count - 1 of the GPUs, sorted by their position on the PCI bus;
 * unknown GPUs come last. */
void visible_order_by_pci(const struct visible_gpu *gpus, uint32_t count, uint32_t *order);

/* Writes the positions in `order` of the visible GPUs, in the list's order, to out[VISIBLE_MAX];
 * returns how many. `list` is of NUMBERS or UUIDS. */
uint32_t visible_match(const struct visible *list, const struct visible_gpu *gpus,
                       const uint32_t *order, uint32_t count, uint32_t *out);

#endif
