/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the parsers of all kinds of lines: errors, words of the form key=value, growing arrays,
 * and sums.
 */
#include "daemon/sim/workload/workload_parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void parser_fault(struct parser *p, const char *fmt, ...) {
    char text[256];
    va_list ap;

    if (p->faults++ >= WORKLOAD_MAX_ERRORS) return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_printf(p->errors, "%u: %s\n", p->line, text);
}

static int take_pair(struct parser *p, const struct keys *keys, char *word, void *record,
                     uint32_t *seen) {
    char *value = strchr(word, '=');
    const struct key *k = keys->list;
    uint32_t i = 0;
    if (!value) {
        parser_fault(p, "'%.60s' is not of the form key=value", word);
        return 0;
    }
    *value++ = '\0';
    while (i < keys->count && strcmp(k[i].name, word) != 0)
        i++;
    if (i == keys->count) {
        parser_fault(p, "the key '%.60s' is unknown here", word);
        return 0;
    }
    if (*seen & 1u << i) parser_fault(p, "%s is given twice", word);
    *seen |= 1u << i;
    int err = workload_keys_take(p->w->arena, &k[i], value, record);
    if (err == -ENOMEM) return err;
    if (err) parser_fault(p, "%s: '%.60s' is not %s", word, value, k[i].expected);
    return 0;
}

int parser_pairs(struct parser *p, const struct keys *keys, char *rest, void *record,
                 uint32_t *seen) {
    *seen = 0;
    for (uint32_t i = 0; i < keys->count; i++)
        workload_keys_fall_back(&keys->list[i], record);
    for (char *word; (word = strtok_r(rest, " \t", &rest));) {
        int err = take_pair(p, keys, word, record, seen);
        if (err) return err;
    }
    for (uint32_t i = 0; i < keys->count; i++)
        if (keys->list[i].required && !(*seen & 1u << i))
            parser_fault(p, "%s is missing", keys->list[i].name);
    return 0;
}

int parser_room(void **array, size_t item, uint32_t count, uint32_t *cap) {
    if (count < *cap) return 0;
    uint32_t grown = *cap ? 2 * *cap : 64;
    void *more = realloc(*array, grown * item);
    if (!more) return -ENOMEM;
    *array = more;
    *cap = grown;
    return 0;
}

/* Bounds the total time, so that no sum in the simulator can overflow. */
void parser_bound(struct parser *p, uint64_t each_ns, uint32_t iterations) {
    uint64_t all;
    if (__builtin_mul_overflow(each_ns, (uint64_t)iterations, &all) ||
        __builtin_add_overflow(all, p->total_ns, &p->total_ns) ||
        p->total_ns > WORKLOAD_MAX_TOTAL_NS) {
        parser_fault(p, "the jobs so far take more than 36 years");
        p->total_ns = 0;
    }
}
