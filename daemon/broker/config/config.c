/* SPDX-License-Identifier: Apache-2.0
 *
 * The option table at work: setting, showing, and what must hold between options.
 */
#include "daemon/broker/config/config.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "daemon/broker/config/config_value.h"
#include "proto/uuid.h"

#define RELOAD true
#define RESTART false

/* "|fifo|pack": what may be chosen. */
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

/* Levenshtein distance; `b` is one of our names, so a row is short. */
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
    int least = (int)strlen(name) / 2 + 1; /* half of it must be right */

    for (int i = 0; i < TABLE_LENGTH; i++) {
        int d = distance(name, table[i].name);

        if (d < least) {
            least = d;
            best = table[i].name;
        }
    }
    return best;
}

/* Whether text is one that an option of this type takes; choices are looked at elsewhere. */
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

static int load_environment(struct config *c, FILE *errors) {
    char name[80], why[CONFIG_WHY_BYTES];
    int bad = 0;

    for (int i = 0; i < TABLE_LENGTH; i++) {
        const char *value;
        size_t n = (size_t)snprintf(name, sizeof(name), "SALUS_%s", table[i].name);

        for (size_t k = 6; k < n; k++)
            name[k] = (char)toupper((unsigned char)name[k]);
        value = getenv(name);
        if (value && config_set(c, table[i].name, value, why, sizeof(why)) < 0) {
            fprintf(errors, "environment %s: %s\n", name, why);
            bad++;
        } else if (value) {
            config_said(c, table[i].name, "environment %s", name);
        }
    }
    return bad;
}

static int load_flags(struct config *c, const struct config_sources *s, FILE *errors) {
    char why[CONFIG_WHY_BYTES];
    int bad = 0;

    for (int i = 0; i < s->flags; i++)
        if (config_set(c, s->flag_names[i], s->flag_values[i], why, sizeof(why)) < 0) {
            fprintf(errors, "command line: %s\n", why);
            bad++;
        } else {
            config_said(c, s->flag_names[i], "command line");
        }
    return bad;
}

static int load_files(struct config *c, const struct config_sources *s, FILE *errors) {
    static const char *const files[] = {"/usr/lib/salus/salus.conf", "/etc/salus/salus.conf"};
    const char *root = s->root ? s->root : "";
    char path[1024];
    glob_t found;
    int bad = 0;

    if (s->file) return config_read_file(c, s->file, true, errors);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", root, files[i]);
        bad += config_read_file(c, path, false, errors);
    }
    snprintf(path, sizeof(path), "%s/etc/salus/conf.d/*.conf", root);
    if (glob(path, 0, NULL, &found) == 0) { /* sorted by name */
        for (size_t i = 0; i < found.gl_pathc; i++)
            bad += config_read_file(c, found.gl_pathv[i], false, errors);
        globfree(&found);
    }
    return bad;
}

/* An address or a size of the windows. */
static int check_multiple(const struct config *c, enum config_place option, uint64_t unit,
                          const char *shown, FILE *errors) {
    if (*number_of(c, &table[option]) % unit == 0) return 0;
    return config_complain(c, option, errors, "must be a multiple of %s", shown);
}

/* Its half, for memory within iterations, is of whole granules too. */
static int check_windows(const struct config *c, FILE *errors) {
    uint64_t all = c->window_alloc_bytes + c->window_module_bytes + c->window_host_bytes;
    uint64_t unit = CONFIG_WINDOW_ALIGN;
    int bad = check_multiple(c, CONFIG_O_window_base, unit, "2MiB", errors) +
              check_multiple(c, CONFIG_O_window_alloc_bytes, 2 * unit, "4MiB", errors) +
              check_multiple(c, CONFIG_O_window_module_bytes, unit, "2MiB", errors) +
              check_multiple(c, CONFIG_O_window_host_bytes, unit, "2MiB", errors);

    if (all > CONFIG_STRIDE_BYTES)
        bad += config_complain(c, CONFIG_O_window_alloc_bytes, errors,
                               "with window_module_bytes and window_host_bytes it is more than "
                               "368GiB");
    if ((CONFIG_WINDOW_END - c->window_base) / CONFIG_STRIDE_BYTES < c->max_jobs)
        bad += config_complain(c, CONFIG_O_window_base, errors,
                               "no room above 0x%llx for max_jobs = %llu windows",
                               (unsigned long long)c->window_base, (unsigned long long)c->max_jobs);
    return bad;
}

/* A job needs a granule of each kind. */
int config_check_memory(const struct config *c, FILE *errors) {
    if (c->device_memory == 0) return 0;
    if (c->device_memory < CONFIG_MEMORY_LEAST)
        return config_complain(c, CONFIG_O_device_memory, errors,
                               "no job fits into less than 4MiB");
    return check_multiple(c, CONFIG_O_device_memory, CONFIG_WINDOW_ALIGN, "2MiB", errors);
}

/* What one option cannot say alone. */
static int check_together(const struct config *c, FILE *errors) {
    size_t longest = sizeof(((struct sockaddr_un *)NULL)->sun_path) - sizeof("/job.sock");
    int bad =
        check_windows(c, errors) + config_check_memory(c, errors) + config_gpus_check(c, errors);

    if (strlen(c->run_dir) > longest || !*c->run_dir)
        bad += config_complain(c, CONFIG_O_run_dir, errors,
                               "must have 1 to %zu bytes, so that a socket's path fits", longest);
    return bad;
}

int config_load(struct config *c, const struct config_sources *sources, FILE *errors) {
    int bad;

    config_defaults(c);
    bad = load_files(c, sources, errors);
    bad += load_environment(c, errors);
    bad += load_flags(c, sources, errors);
    return bad + check_together(c, errors);
}

int config_reload(struct config *running, const struct config *fresh, FILE *notes) {
    int kept = 0;

    for (int i = 0; i < TABLE_LENGTH; i++) {
        const struct config_option *o = &table[i];
        char before[CONFIG_TEXT_BYTES], after[CONFIG_TEXT_BYTES];

        config_show(running, o, before, sizeof(before));
        config_show(fresh, o, after, sizeof(after));
        if (strcmp(before, after) == 0) continue;
        if (!o->reloadable) {
            fprintf(notes, "%s: %s stays until a restart, then %s\n", o->name, before, after);
            kept++;
            continue;
        }
        memcpy(running->origin[i], fresh->origin[i], CONFIG_ORIGIN_BYTES);
        if (is_text(o)) {
            memcpy(text_of(running, o), text_of(fresh, o), CONFIG_TEXT_BYTES);
        } else {
            *number_of(running, o) = *number_of(fresh, o);
        }
    }
    memcpy(running->rules, fresh->rules, sizeof(running->rules));
    running->rule_count = fresh->rule_count;
    return kept + config_gpus_reload(running, fresh, notes);
}
