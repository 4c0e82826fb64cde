/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets and shows options by the option table.
 */
#include "daemon/broker/config/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/broker/config/config_value.h"
#include "proto/cuda/uuid.h"

#define RELOAD true
#define RESTART false

/* "|fifo|pack": the choices of an option. */
static const char lane_policies[] =
#define LANE_POLICY(name, sentence) "|" #name
#include "daemon/policy/policies.def"
    ;
static const char kernel_policies[] =
#define KERNEL_POLICY(name, sentence) "|" #name
#include "daemon/policy/policies.def"
    ;

static const char control_policies[] =
#define CONTROL_POLICY(name, sentence) "|" #name
#include "daemon/policy/policies.def"
    ;

static const struct config_option table[] = {
#define OPTION(section, name, type, choices, text, min, max, reload, help) \
    {#section, #name, CONFIG_##type, choices, text,                        \
     min,      max,   reload,        help,    offsetof(struct config, name)},
#include "config/options.def"
#undef OPTION
};

#define TABLE_LENGTH ((int)(sizeof(table) / sizeof(table[0])))

static bool is_text(const struct config_option *o) {
    return o->type == CONFIG_PATH || o->type == CONFIG_FILE || o->type == CONFIG_DEVICE ||
           o->type == CONFIG_CHOICE;
}

static char *text_of(const struct config *c, const struct config_option *o) {
    return (char *)c + o->offset;
}

static uint64_t *number_of(const struct config *c, const struct config_option *o) {
    return (uint64_t *)((char *)c + o->offset);
}

const struct config_option *config_options(int *count) {
    *count = TABLE_LENGTH;
    return table;
}

const struct config_option *config_find(const char *name, size_t bytes) {
    for (int i = 0; i < TABLE_LENGTH; i++)
        if (strlen(table[i].name) == bytes && memcmp(table[i].name, name, bytes) == 0)
            return &table[i];
    return NULL;
}

/* Levenshtein distance. `b` is one of our names, so a row is short. */
static int distance(const char *a, const char *b) {
    int row[64], width = (int)strlen(b);

    if (width >= 64 || strlen(a) >= 64) return 64;
    for (int j = 0; j <= width; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int corner = row[0];

        row[0] = i;
        for (int j = 1; j <= width; j++) {
            int above = row[j];
            int best = corner + (tolower((unsigned char)a[i - 1]) != b[j - 1]);

            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            corner = above;
        }
    }
    return row[width];
}

const char *config_nearest(const char *name) {
    const char *best = NULL;
    int least = (int)strlen(name) / 2 + 1; /* at least half of the name must be right */

    for (int i = 0; i < TABLE_LENGTH; i++) {
        int d = distance(name, table[i].name);

        if (d < least) {
            least = d;
            best = table[i].name;
        }
    }
    return best;
}

/* The text is valid for an option of this type; choices are checked elsewhere. */
static bool is_taken(enum config_type type, const char *value) {
    size_t n = strlen(value);

    if (!n || *value == '/') return type != CONFIG_DEVICE || !n;
    if (type == CONFIG_DEVICE)
        return uuid_may_begin(value) || (n < 10 && strspn(value, "0123456789") == n);
    return type == CONFIG_CHOICE || (type == CONFIG_FILE && !strchr(value, '/'));
}

static int set_text(struct config *c, const struct config_option *o, const char *value, char *why,
                    size_t cap) {
    if (strlen(value) >= CONFIG_TEXT_BYTES) {
        snprintf(why, cap, "%s: longer than %d bytes", o->name, CONFIG_TEXT_BYTES - 1);
        return -EINVAL;
    }
    if (!is_taken(o->type, value)) {
        snprintf(why, cap, "%s: '%.100s' is not %s", o->name, value,
                 config_value_expected(o->type));
        return -EINVAL;
    }
    if (o->type == CONFIG_CHOICE) {
        size_t n = strlen(value);
        const char *p = o->choices;

        while (p && !(strncmp(p, value, n) == 0 && n && (p[n] == '|' || p[n] == '\0')))
            p = (p = strchr(p, '|')) ? p + 1 : NULL;
        if (!p) {
            snprintf(why, cap, "%s: '%.100s' is not one of: %s", o->name, value, o->choices);
            return -EINVAL;
        }
    }
    snprintf(text_of(c, o), CONFIG_TEXT_BYTES, "%s", value);
    return 0;
}

int config_parse(const struct config_option *o, const char *value, uint64_t *out, char *why,
                 size_t cap) {
    uint64_t n;
    int err = config_value_parse(o->type, value, &n);

    if (err == -EINVAL) {
        snprintf(why, cap, "%s: '%.100s' is not %s", o->name, value,
                 config_value_expected(o->type));
        return -EINVAL;
    }
    if (err < 0 || n < o->min || n > o->max) {
        char low[32], high[32];

        config_value_print(o->type, o->min, low, sizeof(low));
        config_value_print(o->type, o->max, high, sizeof(high));
        snprintf(why, cap, "%s: %.100s is out of range: %s to %s", o->name, value, low, high);
        return -EINVAL;
    }
    *out = n;
    return 0;
}

int config_set(struct config *c, const char *name, const char *value, char *why, size_t cap) {
    const struct config_option *o = config_find(name, strlen(name));

    if (!o) {
        const char *near = config_nearest(name);

        if (near)
            snprintf(why, cap, "unknown key '%.64s'; did you mean '%s'?", name, near);
        else
            snprintf(why, cap, "unknown key '%.64s'", name);
        return -EINVAL;
    }
    return is_text(o) ? set_text(c, o, value, why, cap)
                      : config_parse(o, value, number_of(c, o), why, cap);
}

void config_said(struct config *c, const char *name, const char *fmt, ...) {
    const struct config_option *o = config_find(name, strlen(name));
    va_list ap;

    if (!o) return;
    va_start(ap, fmt);
    vsnprintf(c->origin[o - table], CONFIG_ORIGIN_BYTES, fmt, ap);
    va_end(ap);
}

int config_complain(const struct config *c, enum config_place option, FILE *errors, const char *fmt,
                    ...) {
    const char *origin = c->origin[option];
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fprintf(errors, "%s%s%s: %s\n", origin, *origin ? ": " : "", table[option].name, text);
    return 1;
}

void config_show(const struct config *c, const struct config_option *o, char *out, size_t cap) {
    if (is_text(o))
        snprintf(out, cap, "%s", text_of(c, o));
    else
        config_value_print(o->type, *number_of(c, o), out, cap);
}

void config_defaults(struct config *c) {
    char why[CONFIG_WHY_BYTES];

    memset(c, 0, sizeof(*c));
    for (int i = 0; i < TABLE_LENGTH; i++)
        if (config_set(c, table[i].name, table[i].text, why, sizeof(why)) < 0) {
            fprintf(stderr, "config/options.def: default of %s\n", why);
            abort(); /* the table contradicts itself: no user can cause this */
        }
}

void config_take(struct config *c, const struct config *from, enum config_place option) {
    const struct config_option *o = &table[option];

    memcpy(c->origin[option], from->origin[option], CONFIG_ORIGIN_BYTES);
    if (is_text(o))
        memcpy(text_of(c, o), text_of(from, o), CONFIG_TEXT_BYTES);
    else
        *number_of(c, o) = *number_of(from, o);
}
