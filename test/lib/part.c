/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads SALUS_TEST_PART.
 */
#include "test/lib/part.h"

#include <stdlib.h>

uint32_t part_of(uint32_t usual) {
    const char *text = getenv("SALUS_TEST_PART");
    int parts = text ? atoi(text) : 1;
    uint32_t part = parts > 1 ? usual / (uint32_t)parts : usual;

    return part ? part : 1;
}
