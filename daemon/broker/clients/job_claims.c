/* SPDX-License-Identifier: Apache-2.0
 *
 * The first message about a run's end wins. A process of the run may send one too; the launcher
 * sends its own when the command has ended.
 */
#include "daemon/broker/clients/job_claims.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "daemon/broker/clients/disconnect.h"
#include "daemon/broker/clients/hello.h"
#include "daemon/broker/clients/refuse.h"

void job_claims_command(struct client *c, const void *msg, size_t bytes) {
    char why[HELLO_WHY_BYTES], text[WIRE_COMMAND_BYTES];
    int err = hello_check_command(msg, bytes, text, why, sizeof(why));

    if (err == 0 && *c->job.command) {
        snprintf(why, sizeof(why), "the client sent its command line twice");
        err = ERR_PROTOCOL;
    }
    if (err < 0) {
        disconnect_spoke(c, why);
        return;
    }
    memcpy(c->job.command, text, sizeof(c->job.command));
    memcpy(c->attachment->job.command, text, sizeof(text));
}

/* Prints "3", "SIGKILL" or "SIG64". */
static void print_exit(const struct wire_exit *e, char *out, size_t cap) {
    const char *name = e->signal ? sigabbrev_np(e->signal) : NULL;

    if (name)
        snprintf(out, cap, "SIG%s", name);
    else if (e->signal)
        snprintf(out, cap, "SIG%d", (int)e->signal);
    else
        snprintf(out, cap, "%d", (int)e->status);
}

void job_claims_exit(struct client *c, const void *msg, size_t bytes) {
    struct gpus *all = c->clients->gpus;
    char why[HELLO_WHY_BYTES], text[16];
    struct wire_exit e;
    int err = hello_check_exit(msg, bytes, &e, why, sizeof(why));

    if (err < 0) {
        refuse_client(c, err, "%s", why);
        return;
    }
    print_exit(&e, text, sizeof(text));
    for (uint32_t i = 0; i < all->count; i++)
        attachments_exited(&all->items[i].attachments, c->job.uid, e.run, text);
    history_exited(c->clients->history, c->job.uid, e.run, text);
    client_close(c);
}
