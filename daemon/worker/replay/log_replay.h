/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the log that an earlier worker wrote, in place of the ring. Objects are made again,
 * incomplete operations run, and no record is answered twice.
 */
#ifndef DAEMON_WORKER_REPLAY_LOG_REPLAY_H
#define DAEMON_WORKER_REPLAY_LOG_REPLAY_H

#include "daemon/device/device_recovery.h"
#include "daemon/worker/client.h"

/* Prepares reading the log of a client with recovery state, which begins once the client is
 * admitted. 0, -ENOMEM or module_reservation_make's error. */
int log_replay_begin(struct client *c);
/* Copies the next record into RING_RECORD_MAX bytes and returns its length; 0: there is no further
 * one, and the ring is read from now on. */
int log_replay_next(struct client *c, void *record);
/* True when an earlier worker had given this operation, which is read again, to the device. */
bool log_replay_had_begun(const struct client *c, const struct wire_record *rec);
/* The treatment of a record that may be read again. */
enum log_replay_turn {
    REPLAY_NOW,   /* new, or was not complete */
    REPLAY_AGAIN, /* was complete: only its effect on the device's memory is repeated */
    REPLAY_PAST,  /* complete, and nothing is repeated */
};
enum log_replay_turn log_replay_turn(struct client *c, const struct wire_record *rec);

/* How a completed operation is repeated: not at all; as in its record; with these recorded bytes;
 * or not possible, because its bytes are lost. */
enum log_replay_how { REPLAY_PASS, REPLAY_RUN, REPLAY_DATA, REPLAY_LOST };
enum log_replay_how log_replay_how(struct client *c, const struct wire_record *rec,
                                   const void **data);
/* Lets nothing else be read until this operation of the stream is complete. */
void log_replay_await(struct client *c, const struct stream *s, uint64_t seq);

/* Raises a fault where the operation had begun and cannot be repeated, since its progress is
 * unknown. */
void log_replay_judge(struct client *c, const struct wire_record *rec);
/* True when the log has all block records of the graph that is read again. */
bool log_replay_knows_graph(const struct client *c);
/* True when the log has the image of the MODULE_LOAD that is read again. */
bool log_replay_has_image(const struct client *c);
/* The place of the variables of the module that is read again, as *count granules; NULL and *count
 * 0: it has no place yet. Sets replay.placed. */
const struct dev_granule *log_replay_place(struct client *c, uint32_t module, uint32_t *count);
/* The module is placed. Returns true when an earlier worker had it there and the client goes back,
 * so that its variables must go back too. */
bool log_replay_variables(struct client *c, const struct module *m);
/* The module cannot be loaded, for this reason. Ends the client if an earlier worker had it. */
void log_replay_lost(struct client *c, uint32_t module, const char *why);

#endif
