/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints and parses notes.
 */
#include "daemon/place/slurm/job_note.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/units.h"

#define MARK "salus: "

static int take_number(const char *text, uint64_t most, uint64_t *out) {
    return units_parse(UNITS_NONE, text, out) < 0 || *out > most ? -EINVAL : 0;
}

/* The value of the word "key=value"; NULL if there is none. A space ends the value. */
static const char *find(const char *text, const char *key, char *value, size_t cap) {
    size_t n = strlen(key);

    for (const char *p = text; p && *p; p = strchr(p, ' ')) {
        p += strspn(p, " ");
        if (strncmp(p, key, n) != 0 || p[n] != '=') continue;
        size_t length = strcspn(p + n + 1, " ");
        if (length >= cap) return NULL;
        memcpy(value, p + n + 1, length);
        value[length] = '\0';
        return value;
    }
    return NULL;
}

/* Parses a number, mostly of seconds; 0 if the key is missing. */
static int take_time(const char *text, const char *key, uint64_t most, int64_t *out) {
    char value[32];
    uint64_t number = 0;

    if (find(text, key, value, sizeof(value)) && take_number(value, most, &number) < 0)
        return -EINVAL;
    *out = (int64_t)number;
    return 0;
}

static int take_place(struct note *n, const char *text) {
    char value[NOTE_TRIED_BYTES];
    uint64_t gpu, at;
    size_t length;

    if (find(text, "tried", value, sizeof(value))) strcpy(n->tried, value);
    text += strspn(text, " ");
    if (strncmp(text, "on ", 3) != 0) return 0;
    length = strcspn(text + 3, " ");
    if (length == 0 || length >= sizeof(n->node)) return -EINVAL;
    memcpy(n->node, text + 3, length);
    n->node[length] = '\0';
    if (!find(text, "gpu", value, sizeof(value)) || take_number(value, UINT32_MAX - 1, &gpu) < 0)
        return -EINVAL;
    n->gpu = (uint32_t)gpu;
    if (!find(text, "at", value, sizeof(value)) || take_number(value, INT64_MAX, &at) < 0)
        return -EINVAL;
    n->at = (int64_t)at;
    return 0;
}

int note_parse(struct note *n, const char *comment) {
    char ask[ASK_TEXT_BYTES], free[8];
    const char *end;
    int64_t more;

    *n = (struct note){.gpu = NOTE_ANY_GPU};
    if (!comment || strncmp(comment, MARK, strlen(MARK)) != 0) return -ENOENT;
    comment += strlen(MARK);
    end = strchrnul(comment, ';');
    if ((size_t)(end - comment) >= sizeof(ask)) return -EINVAL;
    memcpy(ask, comment, (size_t)(end - comment));
    ask[end - comment] = '\0';
    if (ask_parse(&n->ask, ask) < 0) return -EINVAL;
    n->free = find(ask, "free", free, sizeof(free)) != NULL;
    if (take_time(ask, "begin", NOTE_TIME_MOST_S, &n->begin) < 0) return -EINVAL;
    if (take_time(ask, "wait", NOTE_WAIT_MOST_S, &n->wait_s) < 0) return -EINVAL;
    if (take_time(ask, "more", UINT32_MAX, &more) < 0) return -EINVAL;
    if (take_time(ask, "lacked", INT64_MAX, &n->lacked_ms) < 0) return -EINVAL;
    n->more = (uint32_t)more;
    return *end ? take_place(n, end + 1) : 0;
}

void note_print(const struct note *n, char *out, size_t cap) {
    char ask[ASK_TEXT_BYTES], place[NOTE_NODE_BYTES + 64] = "", more[64] = "";
    const char *free = n->free ? " free=1" : "";

    ask_print(&n->ask, ask, sizeof(ask));
    if (*n->node)
        snprintf(place, sizeof(place), " on %s gpu=%" PRIu32 " at=%" PRId64, n->node, n->gpu,
                 n->at);
    if (n->more)
        snprintf(more, sizeof(more), " more=%" PRIu32 " lacked=%" PRId64, n->more, n->lacked_ms);
    snprintf(out, cap, MARK "%s begin=%" PRId64 " wait=%" PRId64 "%s%s;%s%s%s", ask, n->begin,
             n->wait_s, free, more, place, *n->tried ? " tried=" : "", n->tried);
}

bool note_tried(const struct note *n, const char *node) {
    size_t length = strlen(node);

    for (const char *p = n->tried; *p; p += *p == ',') {
        size_t word = strcspn(p, ",");
        if (word == length && memcmp(p, node, length) == 0) return true;
        p += word;
    }
    return false;
}

void note_try(struct note *n, const char *node) {
    size_t used = strlen(n->tried), more = strlen(node) + 1;

    if (note_tried(n, node)) return;
    if (used + more >= sizeof(n->tried)) used = 0;
    snprintf(n->tried + used, sizeof(n->tried) - used, "%s%s", used ? "," : "", node);
}
