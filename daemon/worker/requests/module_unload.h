/* SPDX-License-Identifier: Apache-2.0
 *
 * Unloads a client's modules and corrects the client's usage. Owner: the client. Thread: the
 * worker's.
 */
#ifndef DAEMON_WORKER_REQUESTS_MODULE_UNLOAD_H
#define DAEMON_WORKER_REQUESTS_MODULE_UNLOAD_H

struct client;
struct module;

/* Unloads a module whose ids are already free. Nothing can use it any more. */
void module_unload_one(struct client *c, struct module *m);
/* Unloads all modules of a client that has nothing on the device. */
void module_unload_all(struct client *c);

#endif
