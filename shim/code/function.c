/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of kernels.
 */
#include "shim/code/function.h"

#include <stdlib.h>
#include <string.h>

#include "shim/handle.h"

_Static_assert(WIRE_FUNCS <= 1u << HANDLE_INDEX_BITS, "ids fit into handles");
_Static_assert((WIRE_FUNCS & (WIRE_FUNCS - 1)) == 0, "function_find masks");

struct function function_table[WIRE_FUNCS];
_Atomic uint32_t function_age;
static uint32_t next_id; /* where the search for a free id goes on */

static struct function *take_id(void) {
    for (uint32_t i = 0; i < WIRE_FUNCS; i++) {
        struct function *f = &function_table[(next_id + i) % WIRE_FUNCS];
        if (f->name) continue;
        next_id = (next_id + i + 1) % WIRE_FUNCS;
        f->id = (uint32_t)(f - function_table);
        return f;
    }
    return NULL;
}

struct function *function_create(struct image *image, const char *name) {
    struct function *f = take_id();
    if (!f) return NULL;
    f->image = image;
    f->name = strdup(name);
    return f->name ? f : NULL;
}

void function_publish(struct function *f) {
    f->handle = (CUfunction)(uintptr_t)handle_make(HANDLE_FUNCTION, ++f->generation, f->id);
}

void function_forget(struct function *f) {
    atom_store_release(&f->ready, 0);
    atom_add(&function_age, 1);
    f->sent = false;
}

void function_free(struct function *f) {
    function_forget(f);
    f->handle = NULL;
    free(f->name);
    free(f->params);
    free(f->set);
    f->name = NULL;
    f->params = NULL;
    f->set = NULL;
}
