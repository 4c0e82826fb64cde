/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays and textures where they are the device's own: what a client asked for is made in its turn
 * among what is deferred, charged to it and answered.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_REQUESTS_DEVICE_ARRAY_H
#define DAEMON_WORKER_REQUESTS_DEVICE_ARRAY_H

#include <stdint.h>

#include "daemon/device/device.h"
#include "proto/wire.h"

struct client;
struct module;

/* Checked records, and what the device is told of them. */
struct arrays_make {
    struct wire_record rec;
    struct dev_array array;
};
struct arrays_texture {
    struct wire_record rec;
    struct dev_texture texture;
};
struct arrays_reference {
    struct wire_record rec;
    struct module *module;
    bool bound;
    struct dev_texture texture; /* unless bound, `surface` alone */
    char name[];
};

void arrays_make(struct client *c, const struct arrays_make *ask);
void arrays_drop(struct client *c, const struct wire_array_drop *drop);
void arrays_texture(struct client *c, const struct arrays_texture *ask);
void arrays_reference(struct client *c, const struct arrays_reference *ask);
/* All that the client has. */
void arrays_release(struct client *c);

#endif
