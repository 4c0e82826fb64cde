/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads defaults, files, the environment and flags, each overriding the previous one.
 */
#include "daemon/broker/config/config_load.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "daemon/broker/config/config_file.h"
#include "daemon/broker/config/config_gpus.h"
#include "daemon/broker/config/config_memory.h"

static int load_environment(struct config *c, FILE *errors) {
    char name[80], why[CONFIG_WHY_BYTES];
    int count, bad = 0;
    const struct config_option *table = config_options(&count);

    for (int i = 0; i < count; i++) {
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

    if (s->file) return config_file_read(c, s->file, true, errors);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", root, files[i]);
        bad += config_file_read(c, path, false, errors);
    }
    snprintf(path, sizeof(path), "%s/etc/salus/conf.d/*.conf", root);
    if (glob(path, 0, NULL, &found) == 0) { /* sorted by name */
        for (size_t i = 0; i < found.gl_pathc; i++)
            bad += config_file_read(c, found.gl_pathv[i], false, errors);
        globfree(&found);
    }
    return bad;
}

/* Checks the rules that involve several options. */
static int check_together(const struct config *c, FILE *errors) {
    size_t longest = sizeof(((struct sockaddr_un *)NULL)->sun_path) - sizeof("/job.sock");
    int bad = config_memory_check_windows(c, errors) + config_memory_check(c, errors) +
              config_gpus_check(c, errors);

    if (strlen(c->run_dir) > longest || !*c->run_dir)
        bad += config_complain(c, CONFIG_O_run_dir, errors,
                               "the path must have 1 to %zu bytes, because a socket's path has a "
                               "limit; choose a shorter one",
                               longest);
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
    int count, kept = 0;
    const struct config_option *table = config_options(&count);

    for (int i = 0; i < count; i++) {
        const struct config_option *o = &table[i];
        char before[CONFIG_TEXT_BYTES], after[CONFIG_TEXT_BYTES];

        config_show(running, o, before, sizeof(before));
        config_show(fresh, o, after, sizeof(after));
        if (strcmp(before, after) == 0) continue;
        if (!o->reloadable) {
            fprintf(notes, "%s: %s stays in effect until salusd restarts; then %s applies\n",
                    o->name, before, after);
            kept++;
            continue;
        }
        config_take(running, fresh, (enum config_place)i);
    }
    memcpy(running->rules, fresh->rules, sizeof(running->rules));
    running->rule_count = fresh->rule_count;
    return kept + config_gpus_reload(running, fresh, notes);
}
