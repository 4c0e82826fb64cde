/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the locks that a thread holds, in builds that check it.
 */
#include "shim/lock.h"

#ifdef LOCK_CHECK

#include <stdio.h>
#include <stdlib.h>

__thread unsigned int lock_held;

void lock_assert_none(void) {
    if (lock_held == 0) return;
    fprintf(stderr, "shim: a thread holds %u locks where the library may wait\n", lock_held);
    abort();
}

#endif
