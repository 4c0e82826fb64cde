/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that take effect only when everything the client sent before them is complete: giving
 * memory back, sharing it, unloading modules, dropping textures and arrays, telling references what
 * they read. While one waits, what the client sent after it does not start, so that nothing of the
 * client is on the device when it takes effect. Much memory comes and goes in parts, between which
 * everybody else goes on.
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
/* The name goes into `ask`'s, behind it. Copied. */
struct device_array_reference;
int deferred_request_reference(struct client *c, const struct device_array_reference *ask,
                               const char *name, uint32_t name_bytes);
/* Backing begins at once, unless something waits already: then it takes its turn behind it. */
int deferred_request_back(struct client *c, const struct wire_mem *mem);
/* So are segments (MEM_MAKE and the following). */
int deferred_request_segment(struct client *c, const struct wire_segment *rec);
/* And where arrays are the device's own, these and their textures. Copied. */
struct device_array_make;
struct device_array_texture;
int deferred_request_array(struct client *c, const struct device_array_make *ask);
int deferred_request_texture(struct client *c, const struct device_array_texture *ask);

/* Carries out what has become due. */
void deferred_request_run(struct client *c);
/* The next part of what is not finished, of each client: how many. */
unsigned deferred_request_go_on(struct worker *w);

#endif
