/* SPDX-License-Identifier: Apache-2.0
 *
 * A control client without salusctl: sends one request, receives its reply and the reply's records.
 */
#ifndef TEST_LIB_ASKER_H
#define TEST_LIB_ASKER_H

#include "proto/control/ctl_msg.h"

#define ASKER_ITEMS 64

struct asker {
    int fd;
    struct ctl_request request; /* filled by the caller; reused for each request */
    struct ctl_reply reply;
    enum ctl_record kind;
    int count;                        /* records of the latest reply; may exceed ASKER_ITEMS */
    union ctl_any items[ASKER_ITEMS]; /* the first ASKER_ITEMS records of the latest reply */
};

/* Sends a->request; aborts when the connection breaks. */
void asker_send(struct asker *a);
/* Receives the reply into a->reply and a->items; aborts when it cannot be understood. */
void asker_hear(struct asker *a);
/* Sends and receives. Returns true when the reply is no refusal. */
bool asker_ask(struct asker *a);

#endif
