/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of sbatch, with the same bounds as in the library and the daemon (proto/wire/job.h).
 */
#include "daemon/place/slurm/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/units.h"
#include "proto/wire/job.h"

/* The priorities of `salusctl run --priority`: above 0 runs first, below 0 yields to all. */
static const struct {
    const char *name, *priority;
} classes[] = {
    [ASK_TRAINING] = {"training", "0"},
    [ASK_SERVICE] = {"service", "1"},
    [ASK_BEST_EFFORT] = {"be", "-1"},
};

#define CLASSES (sizeof(classes) / sizeof(classes[0]))

static const char *const names[] = {
#define X(option, argument, name, sentence) option,
    ASK_OPTIONS(X)
#undef X
};

__attribute__((format(printf, 2, 3))) static int bad(char *why, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, ASK_WHY_BYTES, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

const char *ask_class_name(enum ask_class class) {
    return classes[class].name;
}

/* ---- one option ------------------------------------------------------------------------------ */

static bool find_class(const char *name, enum ask_class *out) {
    for (size_t i = 0; i < CLASSES; i++) {
        if (strcmp(classes[i].name, name) != 0) continue;
        *out = (enum ask_class)i;
        return true;
    }
    return false;
}

static int set_number(enum ask_option option, enum units kind, const char *value, uint64_t most,
                      uint64_t *out, char *why) {
    static const char *const expected[] = {
        [UNITS_BYTES] = "a size such as 4GiB",
        [UNITS_TIME] = "a time with its unit, such as 20ms",
        [UNITS_PART] = "a percentage such as 40%",
    };

    if (units_parse(kind, value, out) < 0)
        return bad(why, "--%s: '%.40s' is not %s", names[option], value, expected[kind]);
    if (*out == 0 || *out > most)
        return bad(why, "--%s: %.40s is out of range", names[option], value);
    return 0;
}

int ask_set(struct ask *a, enum ask_option option, const char *value, char *why) {
    uint64_t milli;
    int err;

    switch (option) {
    case ASK_CLASS:
        if (find_class(value, &a->class)) return 0;
        return bad(why, "--salus-class: '%.40s' is not service, training or be", value);
    case ASK_MEM: return set_number(option, UNITS_BYTES, value, JOB_BYTES_MAX, &a->mem_bytes, why);
    case ASK_PERSISTENT:
        return set_number(option, UNITS_BYTES, value, JOB_BYTES_MAX, &a->persistent_bytes, why);
    case ASK_SLO: return set_number(option, UNITS_TIME, value, JOB_NS_MAX, &a->slo_ns, why);
    case ASK_UTIL:
        err = set_number(option, UNITS_PART, value, 1000, &milli, why);
        if (err == 0) a->util_milli = (uint32_t)milli;
        return err;
    default: return bad(why, "the option is unknown");
    }
}

int ask_check(struct ask *a, char *why) {
    if (a->persistent_bytes && !a->mem_bytes)
        return bad(why, "--salus-persistent needs --salus-mem, which contains it");
    if (a->persistent_bytes > a->mem_bytes)
        return bad(why, "--salus-persistent is more than --salus-mem, which contains it");
    if (a->slo_ns && a->class != ASK_SERVICE)
        return bad(why, "--salus-slo needs --salus-class=service, and the class is %s",
                   ask_class_name(a->class));
    if (!a->persistent_bytes) a->persistent_bytes = a->mem_bytes;
    return 0;
}

/* ---- as text --------------------------------------------------------------------------------- */

void ask_print(const struct ask *a, char *out, size_t cap) {
    snprintf(out, cap,
             "class=%s mem=%" PRIu64 " persistent=%" PRIu64 " slo=%" PRIu64 " util=%" PRIu32,
             ask_class_name(a->class), a->mem_bytes, a->persistent_bytes, a->slo_ns, a->util_milli);
}

static int take_number(const char *value, uint64_t most, uint64_t *out) {
    if (units_parse(UNITS_NONE, value, out) < 0 || *out > most) return -EINVAL;
    return 0;
}

static int take(struct ask *a, const char *key, const char *value) {
    uint64_t util = a->util_milli;
    int err = 0;

    if (strcmp(key, "class") == 0) return find_class(value, &a->class) ? 0 : -EINVAL;
    if (strcmp(key, "mem") == 0) err = take_number(value, JOB_BYTES_MAX, &a->mem_bytes);
    if (strcmp(key, "persistent") == 0)
        err = take_number(value, JOB_BYTES_MAX, &a->persistent_bytes);
    if (strcmp(key, "slo") == 0) err = take_number(value, JOB_NS_MAX, &a->slo_ns);
    if (strcmp(key, "util") == 0) err = take_number(value, 1000, &util);
    a->util_milli = (uint32_t)util;
    return err;
}

static int take_all(struct ask *a, const char *text) {
    char copy[ASK_TEXT_BYTES], why[ASK_WHY_BYTES], *rest = copy, *word;

    if (strlen(text) >= sizeof(copy)) return -EINVAL;
    strcpy(copy, text);
    while ((word = strsep(&rest, " "))) {
        char *value = strchr(word, '=');

        if (!value) continue;
        *value++ = '\0';
        if (take(a, word, value) < 0) return -EINVAL;
    }
    return ask_check(a, why);
}

int ask_parse(struct ask *a, const char *text) {
    int err;

    *a = (struct ask){0};
    err = take_all(a, text);
    if (err < 0) *a = (struct ask){0};
    return err;
}

/* ---- for salusctl ---------------------------------------------------------------------------- */

static void word(struct ask_words *out, const char *text) {
    snprintf(out->text[out->count++], ASK_WORD_BYTES, "%s", text);
}

static void number(struct ask_words *out, const char *option, uint64_t value, const char *unit) {
    char text[ASK_WORD_BYTES];

    snprintf(text, sizeof(text), "%" PRIu64 "%.2s", value, unit);
    word(out, option);
    word(out, text);
}

void ask_words(const struct ask *a, struct ask_words *out) {
    out->count = 0;
    word(out, "--priority");
    word(out, classes[a->class].priority);
    if (a->mem_bytes) {
        number(out, "--persistent", a->persistent_bytes, "");
        number(out, "--ephemeral", a->mem_bytes - a->persistent_bytes, "");
    }
    if (a->slo_ns) number(out, "--slo", a->slo_ns, "ns");
}
