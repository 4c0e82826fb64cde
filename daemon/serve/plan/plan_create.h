/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and destroys a scheduler.
 */
#ifndef DAEMON_SERVE_PLAN_PLAN_CREATE_H
#define DAEMON_SERVE_PLAN_PLAN_CREATE_H

#include "daemon/serve/plan/types/plan_types.h"

/* Returns 0, -ENOMEM, or -EINVAL for an invalid configuration with a sentence in `why` (>= 160
 * bytes, or NULL). */
int plan_create(struct plan **out, const struct plan_config *config, char *why, size_t why_bytes);
void plan_destroy(struct plan *p);

#endif
