/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, textures and surfaces that clients describe. They are checked and passed to the device,
 * which knows textures by handle and arrays by address. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_FRONT_TEXTURE_RECORD_H
#define DAEMON_WORKER_FRONT_TEXTURE_RECORD_H

#include <stddef.h>

#include "daemon/device/device.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_textures.h"
#include "proto/wire/wire.h"

struct client;

/* Converts a checked record to the device's form. Pure. */
struct dev_texture texture_record_describe(const struct wire_texture *w);
struct dev_array texture_record_describe_array(const struct wire_array *w);

/* These records were checked (record.h). Return 0, or ERR_PROTOCOL with `why`. */
int texture_record_add(struct client *c, const void *rec, char *why, size_t why_bytes);
int texture_record_reference(struct client *c, const void *rec, char *why, size_t why_bytes);
int texture_record_drop(struct client *c, const void *rec, char *why, size_t why_bytes);
int texture_record_array(struct client *c, const void *rec, char *why, size_t why_bytes);
int texture_record_array_drop(struct client *c, const void *rec, char *why, size_t why_bytes);

#endif
