/* SPDX-License-Identifier: Apache-2.0
 *
 * Iterates over the choices.
 */
#include "proto/cuda/capability.h"

#include <stdlib.h>
#include <string.h>

/* Returns the capability to which `choice` points; moves `choice` to the next, or to NULL. */
static uint32_t take(const char **choice) {
    char *end;
    unsigned long major = strtoul(*choice, &end, 10), minor = strtoul(end + 1, &end, 10);
    *choice = *end ? end + 1 : NULL;
    return (uint32_t)(major * 10 + minor);
}

uint32_t capability_parse(const char *text) {
    size_t n = strlen(text);
    for (const char *choice = CAPABILITY_CHOICES; choice;) {
        bool same = strcspn(choice, "|") == n && memcmp(choice, text, n) == 0;
        uint32_t capability = take(&choice);
        if (same) return capability;
    }
    return 0;
}

bool capability_known(uint32_t capability) {
    for (const char *choice = CAPABILITY_CHOICES; choice;)
        if (take(&choice) == capability) return true;
    return false;
}
