/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads members of a JSON object and reports invalid ones. The tree is cJSON's and stays the
 * caller's. Not thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_FIELD_H
#define DAEMON_SERVE_INFER_FIELD_H

#include <cjson/cJSON.h>

#include "daemon/serve/infer/refusal.h"

/* The subject of an error message, such as "input 3". */
#define FIELD_OWNER_BYTES 320

/* Checks that the object has at most 64 keys and none twice. Functions with a `why` return 0, or
 * -EINVAL with the error there. */
int field_check_keys(const cJSON *object, const char *owner, struct refusal *why);

/* NULL if the member is missing, which is not an error in itself. */
const cJSON *field_get(const cJSON *object, const char *key);

/* Reads a string of 1 to `max` bytes without control characters. */
int field_string(const cJSON *item, const char *owner, const char *key, size_t max,
                 const char **out, struct refusal *why);
int field_bool(const cJSON *item, const char *owner, const char *key, bool *out,
               struct refusal *why);
/* Reads a whole number from 0 to 2^53, the largest range that doubles represent exactly. */
int field_count(const cJSON *item, const char *owner, const char *key, uint64_t *out,
                struct refusal *why);

/* Reads the parameters of a request, an input or an output, and rejects unsupported ones that would
 * change the meaning. *out: the object, or NULL. */
int field_parameters(const cJSON *object, const char *owner, const cJSON **out,
                     struct refusal *why);

#endif
