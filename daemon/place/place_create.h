/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and destroys a placement.
 */
#ifndef DAEMON_PLACE_PLACE_CREATE_H
#define DAEMON_PLACE_PLACE_CREATE_H

#include "daemon/place/state/place_types.h"

/* Returns 0, or -EINVAL or -ENOMEM with the reason in `why`. */
int place_create(struct place **out, const struct place_config *config, char *why, size_t cap);

void place_destroy(struct place *p);

#endif
