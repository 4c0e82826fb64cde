/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the invariants of a placement, for tests.
 */
#ifndef DAEMON_PLACE_PLACE_CHECK_H
#define DAEMON_PLACE_PLACE_CHECK_H

#include "daemon/place/state/place_types.h"

/* Returns NULL, or a static sentence about a violated invariant. */
const char *place_check(const struct place *p);

#endif
