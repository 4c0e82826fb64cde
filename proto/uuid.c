/* SPDX-License-Identifier: Apache-2.0
 *
 * 8-4-4-4-12 digits.
 */
#include "proto/uuid.h"

#include <stdio.h>

void uuid_print(const uint8_t *u, char *out) {
    snprintf(out, UUID_TEXT_BYTES,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
             u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
             u[15]);
}
