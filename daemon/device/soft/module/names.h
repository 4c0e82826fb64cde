/* SPDX-License-Identifier: Apache-2.0
 *
 * What a function names. Every kernel that reaches it has to know; its instructions are walked
 * once.
 *
 * Owner: the function's module. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_SOFT_MODULE_NAMES_H
#define DAEMON_DEVICE_SOFT_MODULE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct code_module;

/* Ascending, without repetition. */
struct names_list {
    uint32_t *items, count;
};

struct code_names {
    struct names_list calls;    /* functions that it calls by name, by index */
    struct names_list launches; /* kernels whose address it takes, by index */
    struct names_list shared;   /* the module's variables in shared memory, by index */
    bool indirect;              /* it calls through a pointer */
    bool reserved;              /* it asks for the shared memory that the system reserves */
    bool nests;                 /* it calls the device runtime */
    bool launches_graphs;
    bool prints, allocates; /* it calls printf; malloc or free */
};

/* The function's, found now or before. NULL: out of memory. */
const struct code_names *names_of(struct code_module *m, uint32_t func);

#endif
