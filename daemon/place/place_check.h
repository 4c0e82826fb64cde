/* SPDX-License-Identifier: Apache-2.0
 *
 * The invariants of a placement, for tests.
 */
#ifndef DAEMON_PLACE_PLACE_CHECK_H
#define DAEMON_PLACE_PLACE_CHECK_H

#include "daemon/place/state/place_types.h"

/* The invariants: NULL, or which one does not hold. */
const char *place_check(const struct place *p);

#endif
