/* SPDX-License-Identifier: Apache-2.0
 *
 * The text has groups of 8-4-4-4-12 digits.
 */
#include "proto/cuda/uuid.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

void uuid_print(const uint8_t *u, char *out) {
    snprintf(out, UUID_TEXT_BYTES,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
             u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
             u[15]);
}

static const char form[] = "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

bool uuid_may_begin(const char *text) {
    size_t n = strlen(text);
    if (n <= strlen("GPU-") || n >= sizeof(form)) return false;
    for (size_t i = 0; i < n; i++)
        if (form[i] == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != form[i]) return false;
    return true;
}

bool uuid_begins(const uint8_t *uuid, const char *text) {
    char own[UUID_TEXT_BYTES];
    uuid_print(uuid, own);
    return strncasecmp(own, text, strlen(text)) == 0;
}
