/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts, for each entry point that the program called, its calls and the requests to the worker
 * that they waited for. Part of a library whose entry points and whose reply_call are compiled with
 * -finstrument-functions; this file is not. When the program ends, a line for each entry point
 * (name, calls, requests) is appended to the file that SALUS_COUNTED names.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "shim/connection/reply.h"
#include "shim/entry/gen_entries.h"

static _Atomic uint64_t calls[CALL_LIMIT], questions[CALL_LIMIT];
static __thread unsigned int current; /* entry point that the program is in; 0: none */

/* The names that the compiler calls. */
void counted_enter(void *function, void *from) __asm__("__cyg_profile_func_enter");
void counted_leave(void *function, void *from) __asm__("__cyg_profile_func_exit");

static unsigned int number_of(const void *function) {
    for (unsigned int i = 1; i < CALL_LIMIT; i++)
        if (shim_entries[i] == function) return i;
    return 0;
}

/* Entry points call each other: only the one that the program called counts. */
void counted_enter(void *function, void *from) {
    if (function == (void *)reply_call) atom_add_relaxed(&questions[current], 1);
    if (current) return;
    current = number_of(function);
    atom_add_relaxed(&calls[current], 1);
}

void counted_leave(void *function, void *from) {
    if (current && shim_entries[current] == function) current = 0;
}

static void print(FILE *out, unsigned int number) {
    Dl_info info;
    uint64_t n = atom_load_relaxed(&calls[number]), q = atom_load_relaxed(&questions[number]);
    if (!n || !dladdr(shim_entries[number], &info) || !info.dli_sname) return;
    fprintf(out, "%s %llu %llu\n", info.dli_sname, (unsigned long long)n, (unsigned long long)q);
}

static __attribute__((destructor)) void tell(void) {
    const char *path = getenv("SALUS_COUNTED");
    FILE *out = path ? fopen(path, "ae") : NULL;
    if (!out) return;
    for (unsigned int i = 1; i < CALL_LIMIT; i++)
        print(out, i);
    fclose(out);
}
