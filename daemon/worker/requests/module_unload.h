/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's code leaves the device, and what the client uses of it. Owner: the client. Thread: the
 * worker's.
 */
#ifndef DAEMON_WORKER_REQUESTS_MODULE_UNLOAD_H
#define DAEMON_WORKER_REQUESTS_MODULE_UNLOAD_H

struct client;
struct module;

/* A module whose ids are free already. Nothing can use it any more. */
void module_unload_one(struct client *c, struct module *m);
/* All that the client has, when nothing of it is on the device. */
void module_unload_all(struct client *c);

#endif
