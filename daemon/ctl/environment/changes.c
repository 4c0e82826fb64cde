/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the environment with a copy of its earlier state.
 */
#include "daemon/ctl/environment/changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int changes_take(struct changes *c) {
    size_t count = 0;

    *c = (struct changes){0};
    while (environ && environ[count]) /* environ is NULL after clearenv(3) */
        count++;
    c->before = calloc(count + 1, sizeof(*c->before));
    if (!c->before) return -ENOMEM;
    for (; c->count < count; c->count++) {
        c->before[c->count] = strdup(environ[c->count]);
        if (c->before[c->count]) continue;
        changes_finish(c);
        return -ENOMEM;
    }
    return 0;
}

static bool was_there(const struct changes *c, const char *entry) {
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->before[i], entry) == 0) return true;
    return false;
}

/* Within single quotes a shell takes every character but the quote literally. */
static void print_quoted(const char *entry, FILE *out) {
    int name = (int)strcspn(entry, "=");

    fprintf(out, "export %.*s='", name, entry);
    for (const char *p = entry + name + (entry[name] == '='); *p; p++)
        if (*p == '\'')
            fputs("'\\''", out);
        else
            fputc(*p, out);
    fputs("'\n", out);
}

static void print_removed(const struct changes *c, FILE *out) {
    for (size_t i = 0; i < c->count; i++) {
        char *equals = strchr(c->before[i], '=');

        if (!equals) continue;
        *equals = '\0';
        if (!getenv(c->before[i])) fprintf(out, "unset %s\n", c->before[i]);
        *equals = '=';
    }
}

void changes_print(const struct changes *c, FILE *out, bool null) {
    if (!null) print_removed(c, out);

    for (char **e = environ; e && *e; e++) {
        if (was_there(c, *e)) continue;
        if (null)
            fwrite(*e, strlen(*e) + 1, 1, out);
        else
            print_quoted(*e, out);
    }
}

void changes_finish(struct changes *c) {
    for (size_t i = 0; i < c->count; i++)
        free(c->before[i]);
    free(c->before);
    *c = (struct changes){0};
}
