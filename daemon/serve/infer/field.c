/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects have few keys, which are compared pairwise.
 */
#include "daemon/serve/infer/field.h"

#include <string.h>

#define MAX_KEYS 64
#define MAX_EXACT 9007199254740992.0 /* 2^53 */

/* Parameters of Triton's extensions; a client that sends one relies on its effect. */
static const char *const unsupported[] = {"sequence_id", "shared_memory_region", "classification"};

int field_check_keys(const cJSON *object, const char *owner, struct refusal *why) {
    int count = 0;

    for (const cJSON *a = object->child; a; a = a->next) {
        if (++count > MAX_KEYS)
            return refusal_say(why, 400, "%s has more than %d keys", owner, MAX_KEYS);
        for (const cJSON *b = object->child; b != a; b = b->next)
            if (strcmp(a->string, b->string) == 0)
                return refusal_say(why, 400, "%s: \"%.64s\" is given twice", owner, a->string);
    }
    return 0;
}

const cJSON *field_get(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

int field_string(const cJSON *item, const char *owner, const char *key, size_t max,
                 const char **out, struct refusal *why) {
    size_t bytes;

    if (!cJSON_IsString(item))
        return refusal_say(why, 400, "%s: \"%s\" is %s", owner, key,
                           item ? "not a string" : "missing");
    bytes = strlen(item->valuestring);
    if (bytes == 0 || bytes > max)
        return refusal_say(why, 400, "%s: \"%s\" has %zu bytes: it must have 1 to %zu", owner, key,
                           bytes, max);
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)item->valuestring[i] < ' ' || item->valuestring[i] == 0x7f)
            return refusal_say(why, 400, "%s: \"%s\" contains a control character", owner, key);
    *out = item->valuestring;
    return 0;
}

int field_bool(const cJSON *item, const char *owner, const char *key, bool *out,
               struct refusal *why) {
    if (!cJSON_IsBool(item))
        return refusal_say(why, 400, "%s: \"%s\" is neither true nor false", owner, key);
    *out = cJSON_IsTrue(item);
    return 0;
}

int field_count(const cJSON *item, const char *owner, const char *key, uint64_t *out,
                struct refusal *why) {
    double d = cJSON_IsNumber(item) ? item->valuedouble : -1;

    if (!(d >= 0 && d <= MAX_EXACT) || d != (double)(uint64_t)d)
        return refusal_say(why, 400, "%s: \"%s\" is not a whole number of 0 or more", owner, key);
    *out = (uint64_t)d;
    return 0;
}

int field_parameters(const cJSON *object, const char *owner, const cJSON **out,
                     struct refusal *why) {
    const cJSON *p = field_get(object, "parameters");
    int err;

    *out = p;
    if (!p) return 0;
    if (!cJSON_IsObject(p))
        return refusal_say(why, 400, "%s: \"parameters\" is not an object", owner);
    err = field_check_keys(p, owner, why);
    if (err) return err;
    for (size_t i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++)
        if (field_get(p, unsupported[i]))
            return refusal_say(why, 400, "%s: the parameter \"%s\" is not supported: leave it out",
                               owner, unsupported[i]);
    return 0;
}
