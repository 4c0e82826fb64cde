/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints a line for each finding, and below it what to do.
 */
#include "daemon/ctl/doctor/findings.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <string.h>

#include "daemon/ctl/cli/render.h"

static const char *const level_names[FINDINGS_LEVELS] = {"ok", "warning", "error"};

void findings_add(struct findings *f, enum findings_level level, const char *what, const char *todo,
                  const char *fmt, ...) {
    struct finding *i = &f->items[f->count];
    va_list ap;

    f->levels[level]++;
    if (f->count == FINDINGS_MAX) {
        f->omitted++;
        return;
    }
    f->count++;
    i->level = level;
    i->what = what;
    va_start(ap, fmt);
    vsnprintf(i->text, sizeof(i->text), fmt, ap);
    va_end(ap);
    snprintf(i->todo, sizeof(i->todo), "%s", todo ? todo : "");
}

static void show_text(struct cli *c, const struct findings *f) {
    for (int i = 0; i < f->count; i++) {
        const struct finding *l = &f->items[i];

        fprintf(c->out, "%-8s %-11s %s\n", level_names[l->level], l->what, l->text);
        if (*l->todo) fprintf(c->out, "%-8s %-11s -> %s\n", "", "", l->todo);
    }
    if (f->omitted) fprintf(c->out, "and %d more\n", f->omitted);
}

static void show_plain(struct cli *c, const struct findings *f) {
    if (!c->no_header) fputs("level\twhat\ttext\tdo\n", c->out);
    for (int i = 0; i < f->count; i++)
        fprintf(c->out, "%s\t%s\t%s\t%s\n", level_names[f->items[i].level], f->items[i].what,
                f->items[i].text, f->items[i].todo);
}

static int show_json(struct cli *c, const struct findings *f, cJSON *more) {
    cJSON *root = more ? more : render_root(), *list = cJSON_AddArrayToObject(root, "findings");

    for (int i = 0; i < f->count; i++) {
        cJSON *l = cJSON_CreateObject();

        cJSON_AddStringToObject(l, "level", level_names[f->items[i].level]);
        cJSON_AddStringToObject(l, "what", f->items[i].what);
        cJSON_AddStringToObject(l, "text", f->items[i].text);
        cJSON_AddStringToObject(l, "do", f->items[i].todo);
        cJSON_AddItemToArray(list, l);
    }
    cJSON_AddNumberToObject(root, "omitted", f->omitted);
    return render_print(c, root);
}

int findings_show(struct cli *c, const struct findings *f, struct cJSON *more) {
    int status = CLI_OK;

    if (c->format == CLI_JSON)
        status = show_json(c, f, more);
    else if (c->format == CLI_PLAIN)
        show_plain(c, f);
    else
        show_text(c, f);
    return status != CLI_OK ? status : f->levels[FINDINGS_ERROR] ? CLI_FAILED : CLI_OK;
}
