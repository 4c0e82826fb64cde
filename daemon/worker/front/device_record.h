/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that query or configure the device: limits, tensor maps, clusters, and the ring for the
 * output of kernels. `rec` passed record_check. Return 0, or ERR_PROTOCOL with `why`.
 */
#ifndef DAEMON_WORKER_FRONT_DEVICE_RECORD_H
#define DAEMON_WORKER_FRONT_DEVICE_RECORD_H

#include <stddef.h>

struct client;

int device_record_limit(struct client *c, const void *rec, char *why, size_t why_bytes);
int device_record_text(struct client *c, const void *rec, char *why, size_t why_bytes);
int device_record_tensor_map(struct client *c, const void *rec, char *why, size_t why_bytes);
int device_record_clusters(struct client *c, const void *rec, char *why, size_t why_bytes);

#endif
