/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's requests that take effect one after the other. Most wait until everything that the
 * client sent before is complete: giving memory back, sharing it, unloading modules, dropping
 * textures and arrays, binding references. While one waits, later records of the client do not
 * start, so that nothing of the client is on the device when it takes effect. Much memory is
 * created and freed in parts, between which the other clients continue.
 */
#ifndef DAEMON_WORKER_REQUESTS_DEFERRED_REQUEST_H
#define DAEMON_WORKER_REQUESTS_DEFERRED_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/wire.h"

struct client;
struct module;
struct worker;

/* 0 or -ENOMEM. */
int deferred_request_unback(struct client *c, const struct wire_mem *mem);
int deferred_request_unload(struct client *c, struct module *module);
int deferred_request_texture_drop(struct client *c, const struct wire_texture_drop *drop);
int deferred_request_array_drop(struct client *c, const struct wire_array_drop *drop);
/* `name` is copied behind the struct of `ask`. */
struct device_array_reference;
int deferred_request_reference(struct client *c, const struct device_array_reference *ask,
                               const char *name, uint32_t name_bytes);
/* Backing begins at once, unless an earlier record waits: then it follows that one. */
int deferred_request_back(struct client *c, const struct wire_mem *mem);
/* Segments likewise (MEM_MAKE and the following). */
int deferred_request_segment(struct client *c, const struct wire_segment *rec);
/* Likewise arrays and their textures, where arrays are the device's own. The arguments are copied.
 */
struct device_array_make;
struct device_array_texture;
int deferred_request_array(struct client *c, const struct device_array_make *ask);
int deferred_request_texture(struct client *c, const struct device_array_texture *ask);

/* Carries out the requests that are due. */
void deferred_request_run(struct client *c);
/* Carries out the next part of each client's unfinished request; returns the number of clients. */
unsigned deferred_request_go_on(struct worker *w);

#endif
