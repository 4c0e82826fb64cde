/* SPDX-License-Identifier: Apache-2.0
 *
 * The table and its text form: a line with the version and the number of entries, then one line per
 * entry.
 */
#include "daemon/broker/store/program_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/failure.h"
#include "common/text/units.h"

#define TITLE "salus-profiles"
#define VERSION 1
#define NUMBERS (sizeof(struct program_profile) / sizeof(uint64_t))
#define LINE_BYTES 200

_Static_assert(sizeof(struct program_profile) == 8 * sizeof(uint64_t), "an entry is eight numbers");

void program_profile_init(struct program_profiles *p) {
    memset(p, 0, sizeof(*p));
}

void program_profile_finish(struct program_profiles *p) {
    free(p->items);
    program_profile_init(p);
}

static struct program_profile *find(const struct program_profiles *p, uint64_t uid, uint64_t key) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->items[i].uid == uid && p->items[i].key == key) return &p->items[i];
    return NULL;
}

const struct program_profile *program_profile_find(const struct program_profiles *p, uint64_t uid,
                                                   uint64_t key) {
    return key ? find(p, uid, key) : NULL;
}

static void drop(struct program_profiles *p, struct program_profile *item) {
    size_t after = (size_t)(p->items + p->count - (item + 1));

    memmove(item, item + 1, after * sizeof(*item));
    p->count--;
}

static int append(struct program_profiles *p, const struct program_profile *item) {
    if (p->count == PROGRAM_PROFILE_MAX) drop(p, p->items);
    if (p->count == p->cap) {
        uint32_t cap = p->cap ? 2 * p->cap : 64;
        struct program_profile *grown = realloc(p->items, cap * sizeof(*grown));

        if (!grown) return -ENOMEM;
        p->items = grown;
        p->cap = cap;
    }
    p->items[p->count++] = *item;
    return 0;
}

static uint64_t blend(uint64_t before, uint64_t now) {
    return now >= before ? now : before - (before - now) / 4;
}

int program_profile_learn(struct program_profiles *p, const struct program_profile *measured) {
    struct program_profile entry = *measured, *known = find(p, measured->uid, measured->key);

    entry.seen = 1;
    if (known) {
        entry.persistent_bytes = blend(known->persistent_bytes, measured->persistent_bytes);
        entry.ephemeral_bytes = blend(known->ephemeral_bytes, measured->ephemeral_bytes);
        entry.iteration_ns = blend(known->iteration_ns, measured->iteration_ns);
        entry.iterations = blend(known->iterations, measured->iterations);
        if (measured->iterations == 0) entry.iterations = known->iterations;
        entry.seen = known->seen + 1;
        drop(p, known);
    }
    return append(p, &entry);
}

/* ---- text ------------------------------------------------------------------------------------ */

void program_profile_print(const struct program_profiles *p, struct buf *b) {
    buf_printf(b, TITLE " %d %" PRIu32 "\n", VERSION, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        uint64_t n[NUMBERS];

        memcpy(n, &p->items[i], sizeof(n));
        for (size_t k = 0; k < NUMBERS; k++)
            buf_printf(b, "%" PRIu64 "%c", n[k], k + 1 < NUMBERS ? ' ' : '\n');
    }
}

/* Takes the next line without its newline. Returns false when it is incomplete or too long. */
static bool take_line(const char **text, const char *end, char out[LINE_BYTES]) {
    size_t left = (size_t)(end - *text);
    const char *newline = memchr(*text, '\n', left);
    size_t n = newline ? (size_t)(newline - *text) : left;

    if (!newline || n >= LINE_BYTES || memchr(*text, '\0', n)) return false;
    memcpy(out, *text, n);
    out[n] = '\0';
    *text = newline + 1;
    return true;
}

/* Reads exactly `count` numbers. */
static bool take_numbers(char *line, uint64_t *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *word = strsep(&line, " ");

        if (!word || units_parse(UNITS_NONE, word, &out[i]) < 0) return false;
    }
    return line == NULL;
}

static int take_title(const char **text, const char *end, uint64_t *count, char *why) {
    char line[LINE_BYTES];
    uint64_t n[2];

    if (!take_line(text, end, line) || strncmp(line, TITLE " ", sizeof(TITLE)) != 0 ||
        !take_numbers(line + sizeof(TITLE), n, 2))
        return failure(-EINVAL, why, PROGRAM_PROFILE_WHY_BYTES,
                       "the file does not begin with '" TITLE " VERSION COUNT'");
    if (n[0] != VERSION)
        return failure(-EINVAL, why, PROGRAM_PROFILE_WHY_BYTES,
                       "the file has version %" PRIu64 " instead of %d", n[0], VERSION);
    if (n[1] > PROGRAM_PROFILE_MAX)
        return failure(-EINVAL, why, PROGRAM_PROFILE_WHY_BYTES,
                       "the file has %" PRIu64 " entries, more than %u", n[1], PROGRAM_PROFILE_MAX);
    *count = n[1];
    return 0;
}

static int take_entries(struct program_profiles *p, const char *text, const char *end,
                        uint64_t count, char *why) {
    char line[LINE_BYTES];
    uint64_t n[NUMBERS];
    struct program_profile entry;

    for (uint64_t i = 0; i < count; i++) {
        if (!take_line(&text, end, line) || !take_numbers(line, n, NUMBERS))
            return failure(-EINVAL, why, PROGRAM_PROFILE_WHY_BYTES,
                           "line %" PRIu64 " does not consist of %zu numbers", i + 2, NUMBERS);
        memcpy(&entry, n, sizeof(entry));
        if (entry.key == 0 || find(p, entry.uid, entry.key))
            return failure(-EINVAL, why, PROGRAM_PROFILE_WHY_BYTES,
                           "the key of line %" PRIu64 " is 0 or repeats another line", i + 2);
        if (append(p, &entry) < 0) return -ENOMEM;
    }
    return text == end ? 0
                       : failure(-EINVAL, why, PROGRAM_PROFILE_WHY_BYTES,
                                 "the file continues after line %" PRIu64, count + 1);
}

int program_profile_parse(struct program_profiles *p, const char *text, size_t bytes, char *why) {
    const char *end = text + bytes;
    uint64_t count = 0;
    int err = take_title(&text, end, &count, why);

    if (err == 0) err = take_entries(p, text, end, count, why);
    if (err < 0) program_profile_finish(p);
    return err;
}
