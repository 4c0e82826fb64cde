/* SPDX-License-Identifier: Apache-2.0
 *
 * INI files, parsed by inih. Debian's build passes no line number to the handler and reports only
 * the first bad line, so the reader counts lines and detects those without a handler call.
 */
#include "daemon/broker/config/config_file.h"

#include <errno.h>
#include <ini.h>
#include <string.h>

#include "daemon/broker/config/config_gpus.h"
#include "daemon/broker/config/config_rules.h"

#define SECTION_BYTES 49 /* inih truncates longer names */
#define LINE_BYTES 200   /* inih's own buffer; it would split a longer line */

struct reading {
    struct config *config;
    FILE *in, *errors;
    const char *path;
    int line, bad;
    bool pair;    /* the latest line should cause a handler call */
    bool handled; /* the handler was called */
    int error;    /* errno of a failed read; 0: none failed */
};

static void complain(struct reading *r, const char *why) {
    fprintf(r->errors, "%s:%d: %s\n", r->path, r->line, why);
    r->bad++;
}

static void finish_line(struct reading *r) {
    if (r->pair && !r->handled) complain(r, "expected 'name = value'");
    r->pair = r->handled = false;
}

/* Classifies the line as inih does. */
static void classify(struct reading *r, const char *line) {
    size_t n = strcspn(line, "\r\n");

    if (n == 0 || *line == ';' || *line == '#') return;
    if (*line != '[')
        r->pair = true;
    else if (!memchr(line, ']', n))
        complain(r, "the section's header lacks its ']'");
    else if ((size_t)((const char *)memchr(line, ']', n) - line) > SECTION_BYTES)
        complain(r, "the section's name is longer than 49 bytes");
}

/* fgets for inih. Removes leading blanks, which inih takes for a "continued value" that no option
 * has. A line that cannot be read completely is reported and returned as empty. */
static char *read_line(char *out, int cap, void *arg) {
    struct reading *r = arg;
    char *start;
    size_t n;

    finish_line(r);
    if (!fgets(out, cap, r->in)) {
        r->error = ferror(r->in) ? errno : 0;
        return NULL;
    }
    r->line++;
    n = strlen(out);
    if (n == 0 || (out[n - 1] != '\n' && !feof(r->in))) {
        int c;

        complain(r, "the line is longer than 197 bytes or contains a NUL byte");
        while ((c = getc(r->in)) != EOF && c != '\n') {
        }
        strcpy(out, "\n");
        return out;
    }
    start = out + strspn(out, " \t");
    memmove(out, start, strlen(start) + 1);
    classify(r, out);
    return out;
}

static int on_pair(void *arg, const char *section, const char *name, const char *value) {
    struct reading *r = arg;
    const struct config_option *o = config_find(name, strlen(name));
    char why[CONFIG_WHY_BYTES], origin[CONFIG_ORIGIN_BYTES];

    r->handled = true;
    if (config_rules_is(section)) {
        if (config_rules_set(r->config, section, name, value, why, sizeof(why)) < 0)
            complain(r, why);
    } else if (config_gpus_is(section)) {
        snprintf(origin, sizeof(origin), "%.*s:%d", CONFIG_ORIGIN_BYTES - 16, r->path, r->line);
        if (config_gpus_set(r->config, section, name, value, origin, why, sizeof(why)) < 0)
            complain(r, why);
    } else if (o && strcmp(o->section, section) != 0) {
        snprintf(why, sizeof(why), "key '%s' belongs in section [%s], not in [%.50s]", name,
                 o->section, section);
        complain(r, why);
    } else if (config_set(r->config, name, value, why, sizeof(why)) < 0) {
        complain(r, why);
    } else {
        config_said(r->config, name, "%s:%d", r->path, r->line);
    }
    return 1;
}

int config_file_read(struct config *c, const char *path, bool must_exist, FILE *errors) {
    struct reading r = {.config = c, .path = path, .errors = errors};

    r.in = fopen(path, "re");
    if (!r.in) {
        if (errno == ENOENT && !must_exist) return 0;
        fprintf(errors, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    ini_parse_stream(read_line, &r, on_pair, &r);
    finish_line(&r);
    fclose(r.in);
    if (!r.error) return r.bad;
    fprintf(errors, "%s: %s\n", path, strerror(r.error));
    return r.bad + 1;
}
