/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a JSON list number by number.
 */
#include "daemon/sim/base/gaps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define LEAST_S 1e-9
#define MOST_S 3.6e6

static int add(struct gaps *g, uint32_t *room, double s) {
    if (g->count == *room) {
        uint32_t more = *room ? 2 * *room : 64;
        double *grown = realloc(g->s, more * sizeof(*grown));
        if (!grown) return -ENOMEM;
        g->s = grown;
        *room = more;
    }
    g->s[g->count++] = s;
    return 0;
}

static int read_list(struct gaps *g, FILE *f) {
    uint32_t room = 0;
    char mark = 0;
    double s;
    if (fscanf(f, " %c", &mark) != 1 || mark != '[') return -EINVAL;
    for (mark = ','; mark == ',';) {
        bool is = fscanf(f, " %lf %c", &s, &mark) == 2 && (mark == ',' || mark == ']');
        if (!is || !(s >= LEAST_S && s <= MOST_S) || g->count == GAPS_MOST) return -EINVAL;
        if (add(g, &room, s)) return -ENOMEM;
    }
    return 0;
}

int gaps_read(struct gaps *g, FILE *f) {
    *g = (struct gaps){0};
    int err = read_list(g, f);
    uint32_t count = g->count;
    if (err) gaps_finish(g);
    g->count = count;
    return err;
}

void gaps_finish(struct gaps *g) {
    free(g->s);
    *g = (struct gaps){0};
}
