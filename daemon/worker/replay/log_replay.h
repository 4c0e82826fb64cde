/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the log of an estate that an earlier worker wrote, in place of the ring: what was made is
 * made again, what was not complete is done, and nothing is answered twice.
 */
#ifndef DAEMON_WORKER_REPLAY_LOG_REPLAY_H
#define DAEMON_WORKER_REPLAY_LOG_REPLAY_H

#include "daemon/device/device_recovery.h"
#include "daemon/worker/client.h"

/* Of a client that was made of its estate: it is read from now on, once the client is admitted. 0
 * or -ENOMEM. */
int log_replay_begin(struct client *c);
/* The next record, into RING_RECORD_MAX bytes: its length; 0: there is none any more, and the ring
 * is read from now on. */
int log_replay_next(struct client *c, void *record);
/* An operation is read again: an earlier worker had given it to the device. */
bool log_replay_had_begun(const struct client *c, const struct wire_record *rec);
/* What a record that may be read again comes to. */
enum log_replay_turn {
    REPLAY_NOW,   /* it is new, or was not complete */
    REPLAY_AGAIN, /* it was complete: only what it did to the device's memory is done */
    REPLAY_PAST,  /* it is complete, and nothing is done */
};
enum log_replay_turn log_replay_turn(struct client *c, const struct wire_record *rec);

/* How such an operation is done again: not at all; as its record says; as it says with these bytes,
 * which are not the client's; or nobody knows any more what it copied. */
enum log_replay_how { REPLAY_PASS, REPLAY_RUN, REPLAY_DATA, REPLAY_LOST };
enum log_replay_how log_replay_how(struct client *c, const struct wire_record *rec,
                                   const void **data);
/* It is this one of the stream: nothing else is read until it is complete. */
void log_replay_await(struct client *c, const struct stream *s, uint64_t seq);

/* The same. Where it had begun, and may not be done again, for who knows how far
 * it came, the client has a fault. */
void log_replay_judge(struct client *c, const struct wire_record *rec);
/* Of the graph that is read again: the log has all that its records said of blocks. */
bool log_replay_knows_graph(const struct client *c);
/* Of a MODULE_LOAD that is read again: its image is in the log. */
bool log_replay_has_image(const struct client *c);
/* Where the variables of the module lie that is read again; *count 0: it has no place yet. */
const struct dev_granule *log_replay_place(struct client *c, uint32_t module, uint32_t *count);
/* It is placed. True: an earlier worker had it there, and the client goes back: so did its
 * variables.
 */
bool log_replay_variables(struct client *c, const struct module *m);
/* It cannot be loaded, for this reason. Where it was before, the client cannot go on. */
void log_replay_lost(struct client *c, uint32_t module, const char *why);

#endif
