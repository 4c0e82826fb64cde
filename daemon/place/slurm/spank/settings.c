/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the arguments in plugstack.conf.
 */
#include "daemon/place/slurm/spank/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The value after "name=". */
static const char *value_of(const char *word, const char *name) {
    size_t n = strlen(name);

    return strncmp(word, name, n) == 0 && word[n] == '=' && word[n + 1] ? word + n + 1 : NULL;
}

static bool take(struct settings *s, const char *word) {
    const struct {
        const char *name, **to;
    } texts[] = {{"salusctl", &s->salusctl},
                 {"run_dir", &s->run_dir},
                 {"predictor", &s->predictor},
                 {"gres", &s->gres}};
    const char *value;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        value = value_of(word, texts[i].name);
        if (!value) continue;
        *texts[i].to = value;
        return true;
    }
    value = value_of(word, "prolog");
    if (!value || (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)) return false;
    s->prolog = strcmp(value, "yes") == 0;
    return true;
}

int settings_parse(struct settings *s, int argc, char **argv, const char **wrong) {
    *s = (struct settings){.salusctl = "/usr/bin/salusctl", .gres = "salus", .prolog = true};
    for (int i = 0; i < argc; i++) {
        if (take(s, argv[i])) continue;
        *wrong = argv[i];
        return -EINVAL;
    }
    return 0;
}

const char *settings_run_dir(const struct settings *s, const char *node, char out[PATH_MAX]) {
    size_t used = 0;

    if (!s->run_dir) return NULL;
    for (const char *p = s->run_dir; *p; p++) {
        bool name = p[0] == '%' && p[1] == 'n';
        int n = name ? snprintf(out + used, PATH_MAX - used, "%s", node)
                     : snprintf(out + used, PATH_MAX - used, "%c", *p);
        used += (size_t)n;
        if (used >= PATH_MAX) return NULL;
        p += name;
    }
    return out;
}
