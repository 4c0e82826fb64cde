/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that grow by doubling.
 */
#include "daemon/place/state/place_growth.h"

#include <errno.h>
#include <stdlib.h>

#define LEAST 16u

void *place_growth_for(void *array, uint32_t *capacity, uint64_t want, size_t size, int *err) {
    if (*err || want <= *capacity) return array;
    uint64_t grown = *capacity ? *capacity : LEAST;
    while (grown < want)
        grown *= 2;
    void *more = grown < UINT32_MAX ? realloc(array, grown * size) : NULL;
    if (!more) {
        *err = -ENOMEM;
        return array;
    }
    *capacity = (uint32_t)grown;
    return more;
}
