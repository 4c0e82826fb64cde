/* SPDX-License-Identifier: Apache-2.0
 *
 * A served model: its requests, the scheduler that forms batches, and the workers that run them.
 * Every request ends exactly once: answered, rejected or gone.
 *
 * Owner: the gateway. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_H

#include <uv.h>

#include "daemon/serve/gateway/config/models_file.h"
#include "daemon/serve/gateway/served/unanswered.h"

struct served;

/* `model` and `settings` stay the caller's. Starts the workers at once. Returns 0, or -errno with
 * the reason in `why`. */
int served_create(struct served **out, uv_loop_t *loop, const struct model *model,
                  const struct models_file_model *settings, char *why, size_t why_bytes);

/* Tests whether a worker accepts batches. */
bool served_ready(const struct served *s);

/* Handle `infer` and `gone` of front_ops (front_ops.h). */
void served_ask(struct served *s, const struct request *r, struct front_reply *reply);
void served_gone(struct asked *asked);

/* Writes the samples of the index-th metric in Prometheus's text format; false past the last
 * metric. */
bool served_metric(const struct served *s, uint32_t index, struct buf *text);
/* Writes the heading of that metric. */
void served_metric_head(uint32_t index, struct buf *text);

/* Called when no more requests arrive. Ends the workers, then calls `done` from the loop; the model
 * may be destroyed within that call. */
void served_stop(struct served *s, void (*done)(void *arg), void *arg);
void served_destroy(struct served *s); /* accepts NULL */

#endif
