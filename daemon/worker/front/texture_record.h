/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, textures and surfaces that clients describe: checked, and handed to the device, which
 * knows textures by handle and arrays by address. Threads: the worker's.
 */
#ifndef DAEMON_WORKER_FRONT_TEXTURE_RECORD_H
#define DAEMON_WORKER_FRONT_TEXTURE_RECORD_H

#include <stddef.h>

#include "daemon/device/device.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_textures.h"
#include "proto/wire/wire.h"

struct client;

/* A checked record as the device is told it. Pure. */
struct dev_texture texture_record_describe(const struct wire_texture *w);
struct dev_array texture_record_describe_array(const struct wire_array *w);

/* Records that were checked (record.h). 0, or ERR_PROTOCOL with `why`. */
int texture_record_add(struct client *c, const void *rec, char *why, size_t why_bytes);
int texture_record_reference(struct client *c, const void *rec, char *why, size_t why_bytes);
int texture_record_drop(struct client *c, const void *rec, char *why, size_t why_bytes);
int texture_record_array(struct client *c, const void *rec, char *why, size_t why_bytes);
int texture_record_array_drop(struct client *c, const void *rec, char *why, size_t why_bytes);

#endif
