/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of an object of JSON, with the complaint where one is not what it should be. The tree is
 * cJSON's and stays the caller's. Not thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_FIELD_H
#define DAEMON_SERVE_INFER_FIELD_H

#include <cjson/cJSON.h>

#include "daemon/serve/infer/refusal.h"

/* "input 3": who a complaint is about. */
#define FIELD_OWNER_BYTES 320

/* Every key at most once. */
int field_check_keys(const cJSON *object, const char *owner, struct refusal *why);

/* NULL where the member is missing, which is no mistake of its own. */
const cJSON *field_get(const cJSON *object, const char *key);

/* A string of 1 to `max` bytes, none of which is a control character. */
int field_string(const cJSON *item, const char *owner, const char *key, size_t max,
                 const char **out, struct refusal *why);
int field_bool(const cJSON *item, const char *owner, const char *key, bool *out,
               struct refusal *why);
/* A whole number from 0 to 2^53, beyond which a double does not hold them all. */
int field_count(const cJSON *item, const char *owner, const char *key, uint64_t *out,
                struct refusal *why);

/* The parameters of a request, an input or an output: none of them one that changes the meaning in
 * a way that is not supported. *out: the object, or NULL. */
int field_parameters(const cJSON *object, const char *owner, const cJSON **out,
                     struct refusal *why);

#endif
