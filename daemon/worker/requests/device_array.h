/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays and textures where they are the device's own. A client's request is carried out in its
 * turn among the deferred requests, charged to the client and answered.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_REQUESTS_DEVICE_ARRAY_H
#define DAEMON_WORKER_REQUESTS_DEVICE_ARRAY_H

#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_textures.h"
#include "proto/wire/wire.h"

struct client;
struct module;

/* Checked records, with the device's form of each. */
struct device_array_make {
    struct wire_record rec;
    struct dev_array array;
};
struct device_array_texture {
    struct wire_record rec;
    struct dev_texture texture;
};
struct device_array_reference {
    struct wire_record rec;
    struct module *module;
    bool bound;
    struct dev_texture texture; /* if not bound, only `surface` is set */
    char name[];
};

/* device_array_make returns false while it waits for the scheduler's answer, and is called again
 * then. */
bool device_array_make(struct client *c, const struct device_array_make *ask);
void device_array_drop(struct client *c, const struct wire_array_drop *drop);
void device_array_texture(struct client *c, const struct device_array_texture *ask);
void device_array_reference(struct client *c, const struct device_array_reference *ask);
/* Frees all arrays of the client. */
void device_array_release(struct client *c);

#endif
