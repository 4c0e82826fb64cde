/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses numbers and ranges, with or without a step.
 */
#include "daemon/place/slurm/placer/array.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define NUMBER_MOST 4000000u /* largest possible MaxArraySize of Slurm */

static int take_number(const char **p, uint32_t *out) {
    uint32_t n = 0;

    if (!isdigit((unsigned char)**p)) return -EINVAL;
    for (; isdigit((unsigned char)**p); ++*p) {
        n = n * 10 + (uint32_t)(**p - '0');
        if (n > NUMBER_MOST) return -EINVAL;
    }
    *out = n;
    return 0;
}

/* Parses "3", "3-9" or "3-9:2". */
static int take_range(const char **p, uint32_t *first, uint32_t *last, uint32_t *step) {
    *step = 1;
    if (take_number(p, first) < 0) return -EINVAL;
    *last = *first;
    if (**p != '-') return 0;
    ++*p;
    if (take_number(p, last) < 0) return -EINVAL;
    if (**p != ':') return 0;
    ++*p;
    return take_number(p, step) < 0 || *step == 0 ? -EINVAL : 0;
}

uint32_t array_tasks(const char *list, uint32_t *out, uint32_t most) {
    uint32_t count = 0, first, last, step;

    while (count < most && take_range(&list, &first, &last, &step) == 0) {
        if (!strchr(",%", *list)) break; /* strchr also finds the terminating NUL */
        for (uint32_t n = first; n <= last && count < most; n += step)
            out[count++] = n;
        if (*list != ',') break;
        list++;
    }
    return count;
}
