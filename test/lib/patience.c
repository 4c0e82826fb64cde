/* SPDX-License-Identifier: Apache-2.0
 *
 * The time limit of waits in tests.
 */
#include "test/lib/patience.h"

#include <stdlib.h>

#define PATIENCE_S 60

int patience_ms(void) {
    const char *text = getenv("SALUS_TEST_PATIENCE");
    int seconds = text ? atoi(text) : 0;

    return (seconds > 0 ? seconds : PATIENCE_S) * 1000;
}
