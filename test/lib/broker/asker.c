/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends one control request and receives its reply.
 */
#include "test/lib/broker/asker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"

static void fail(const char *what) {
    fprintf(stderr, "asker: %s\n", what);
    abort();
}

static void keep(void *arg, const void *record) {
    struct asker *a = arg;

    if (a->count < ASKER_ITEMS) memcpy(&a->items[a->count], record, ctl_record_bytes(a->kind));
    a->count++;
}

void asker_send(struct asker *a) {
    unsigned char buf[4096];
    size_t n;

    if (ctl_msg_request_encode(&a->request, buf, sizeof(buf), &n) < 0 ||
        fdutil_send(a->fd, buf, n, NULL, 0) < 0)
        fail("cannot send");
}

void asker_hear(struct asker *a) {
    static unsigned char buf[CTL_MESSAGE_MAX];
    char why[CTL_MSG_WHY_BYTES];
    int fds[FDUTIL_MAX_FDS], nfds = FDUTIL_MAX_FDS; /* an export passes its text in a descriptor */
    int n = fdutil_recv(a->fd, buf, sizeof(buf), fds, &nfds);

    if (n <= 0) fail("no reply");
    for (int i = 0; i < nfds; i++)
        fdutil_close(&fds[i]);
    a->count = 0;
    a->kind = ctl_verb_info(a->request.verb)->record;
    if (ctl_msg_reply_decode(buf, (size_t)n, a->kind, &a->reply, keep, a, why, sizeof(why)) < 0)
        fail(why);
}

bool asker_ask(struct asker *a) {
    asker_send(a);
    asker_hear(a);
    return a->reply.ok;
}
