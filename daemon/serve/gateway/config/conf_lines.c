/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serve/gateway/config/conf_lines.h"

#include <stdbool.h>

char *conf_lines_next(char *text, int cap, void *arg) {
    struct conf_lines *l = arg;
    int n = 0, c;
    bool bad = false;

    while ((c = getc(l->file)) != EOF && c != '\n') {
        if (c == '\0' || n + 2 >= cap)
            bad = true;
        else
            text[n++] = (char)c;
    }
    if (c == EOF && n == 0 && !bad) return NULL;
    text[n++] = '\n';
    text[n] = '\0';
    l->line++;
    if (bad && !l->bad_line) l->bad_line = l->line;
    return text;
}
