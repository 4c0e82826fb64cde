/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of kernels.
 */
#include "shim/code/function.h"

#include <stdlib.h>
#include <string.h>

#include "shim/connection/refuse.h"
#include "shim/handle.h"

_Static_assert(WIRE_FUNCS <= 1u << HANDLE_INDEX_BITS, "ids fit into handles");
_Static_assert((WIRE_FUNCS & (WIRE_FUNCS - 1)) == 0, "function_find masks");

struct table function_table = {.bytes = sizeof(struct function)};
_Atomic uint32_t function_age;
static uint32_t limit;          /* ids from here on were never used */
static struct function *unused; /* unused ids, the latest first */

static struct function *take_id(void) {
    uint32_t most = table_most(WIRE_FUNCS, WIRE_FUNCS_FIRST);
    struct function *f = unused;
    if (f) {
        unused = f->next;
        f->next = NULL;
        return f;
    }
    f = limit < most ? table_reach(&function_table, limit) : NULL;
    if (f)
        f->id = limit++;
    else
        refuse_more(REFUSE_KERNELS, most);
    return f;
}

static void give_id(struct function *f) {
    f->next = unused;
    unused = f;
}

struct function *function_create(struct image *image, const char *name) {
    struct function *f = take_id();
    if (!f) return NULL;
    f->image = image;
    f->name = strdup(name);
    if (f->name) return f;
    give_id(f);
    return NULL;
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
    give_id(f);
}
