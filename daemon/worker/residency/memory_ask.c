/* SPDX-License-Identifier: Apache-2.0
 *
 * Posts and ends requests.
 */
#include "daemon/worker/residency/memory_ask.h"

void memory_ask_init(struct memory_ask *asks, struct client *c) {
    for (int by = 0; by < MEMORY_ASK_NOBODY; by++) {
        asks[by].client = c;
        list_init(&asks[by].link);
    }
}

void memory_ask_post(struct memory_ask *a, struct list *asking, uint64_t more_p, uint64_t more_e,
                     bool patient) {
    a->state = MEMORY_ASK_POSTED;
    a->more_p = more_p;
    a->more_e = more_e;
    a->patient = patient;
    list_append(asking, &a->link);
}

void memory_ask_end(struct memory_ask *a) {
    a->state = MEMORY_ASK_NONE;
    list_remove(&a->link);
}

void memory_ask_forget(struct memory_ask *asks) {
    for (int by = 0; by < MEMORY_ASK_NOBODY; by++)
        memory_ask_end(&asks[by]);
}
