/* SPDX-License-Identifier: Apache-2.0
 *
 * The variables and functions that a function names. Every kernel that can reach the function needs
 * them; the function's instructions are read once.
 *
 * Owner: the function's module. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_SOFT_MODULE_NAMES_H
#define DAEMON_DEVICE_SOFT_MODULE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct code_module;

/* Ascending, without duplicates. */
struct names_list {
    uint32_t *items, count;
};

struct code_names {
    struct names_list calls;    /* functions called by name, by index */
    struct names_list launches; /* kernels whose address is taken, by index */
    struct names_list shared;   /* the module's variables in shared memory, by index */
    bool indirect;              /* calls through a pointer */
    bool reserved;              /* asks for the shared memory reserved for the system */
    bool nests;                 /* calls the device runtime */
    bool launches_graphs;
    bool prints, allocates; /* calls printf; malloc or free */
};

/* Returns the names of the function, found now or before. Returns NULL when out of memory. */
const struct code_names *names_of(struct code_module *m, uint32_t func);

#endif
