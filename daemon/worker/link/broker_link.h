/* SPDX-License-Identifier: Apache-2.0
 *
 * The socket to the broker, and what is said through it: what the device is, that we live, who is
 * to end. What is heard: order.h. End of file means that the broker died, and then so does the
 * worker.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_LINK_BROKER_LINK_H
#define DAEMON_WORKER_LINK_BROKER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "proto/wire/wire.h"

struct broker_link {
    int fd;
    bool over; /* the broker is gone, or cannot be understood */
};

/* A device, as the broker and jobs are told of it beside its description. */
void broker_link_describe(struct wire_device *out, const struct dev_info *d,
                          const struct description *described);

/* What the broker is to have of the worker. */
struct broker_link_fds {
    int board, memory; /* -1: none */
    bool adopted;      /* it goes on with the memory that it was given */
};

/* Says what the device is, with the worker's descriptors; or, with `result` < 0 and a text, why
 * there is none (`info` and `described` NULL, no descriptors). */
int broker_link_ready(int broker_fd, const struct dev_info *info,
                      const struct description *described, const struct broker_link_fds *fds,
                      int result, const char *text);
void broker_link_beat(struct broker_link *l);
/* A restored job has done again what it must; or `err`: its own end, for which see its page. */
void broker_link_resumed(struct broker_link *l, uint32_t job_id, int err);
void broker_link_expelled(struct broker_link *l, uint32_t job_id, const char *why);
/* The scheduler will never admit it. */
void broker_link_refused(struct broker_link *l, uint32_t job_id, const char *why);

void broker_link_say(struct broker_link *l, const struct wire_worker_msg *msg);
/* With descriptors, which stay the caller's. An error: there are too few for them to go along. */
int broker_link_give(struct broker_link *l, const struct wire_worker_msg *msg, const int *fds,
                     int nfds);

/* dev_config.keep, of a link: says it and waits for room, as with all that the broker is told. An
 * error: it is not held, nor is what had the number before. */
int broker_link_keep(void *link, uint64_t id, int fd);

/* What sending or receiving returned means that the broker ended. */
bool broker_link_closed(int result);
/* The link is over: a message of that kind could not be sent. An error only where the broker did
 * not end. */
void broker_link_lost(struct broker_link *l, uint32_t kind, int err);

#endif
