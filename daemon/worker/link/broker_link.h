/* SPDX-License-Identifier: Apache-2.0
 *
 * The socket to the broker, and the messages sent through it: the device's description, signs of
 * life, jobs to end. Incoming messages: front/broker_order.h. End of file means that the broker
 * died; the worker then ends too.
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
    bool over; /* the broker ended, the socket failed, or the device is lost: the worker ends */
};

/* The device as the broker and jobs see it, in addition to its description. */
void broker_link_describe(struct wire_device *out, const struct dev_info *d,
                          const struct description *described);

/* Descriptors that the worker gives the broker. */
struct broker_link_fds {
    int board, memory; /* -1: none */
    bool adopted;      /* the device uses the memory of an earlier worker */
};

/* Sends the device's description with the worker's descriptors. With `result` < 0, sends `text`,
 * the reason why there is no device; `info` and `described` are then NULL, and no descriptors go
 * along. */
int broker_link_ready(int broker_fd, const struct dev_info *info,
                      const struct description *described, const struct broker_link_fds *fds,
                      int result, const char *text);
void broker_link_beat(struct broker_link *l);
/* A restored job has repeated its operations; or `err`: its context ended, and its page has the
 * details. */
void broker_link_resumed(struct broker_link *l, uint32_t job_id, int err);
void broker_link_expelled(struct broker_link *l, uint32_t job_id, const char *why);
/* The scheduler will never admit the job. */
void broker_link_refused(struct broker_link *l, uint32_t job_id, const char *why);

void broker_link_say(struct broker_link *l, const struct wire_worker_msg *msg);
/* Sends a message with descriptors, which stay the caller's. Returns -errno when the system has too
 * few descriptors or too little memory to carry them. Any other failure ends the link, and 0 is
 * returned. */
int broker_link_give(struct broker_link *l, const struct wire_worker_msg *msg, const int *fds,
                     int nfds);

/* Implements dev_config.keep; `link` is the broker link. Sends the descriptor and waits for room,
 * as all messages do. On error the broker holds neither this descriptor nor the number's earlier
 * one. */
int broker_link_keep(void *link, uint64_t id, int fd);

/* True when this result of a send or receive means that the broker has ended. */
bool broker_link_closed(int result);
/* Sets `over`, because a message of this kind could not be sent. Logs an error unless the broker
 * has ended. */
void broker_link_lost(struct broker_link *l, uint32_t kind, int err);

#endif
