/* SPDX-License-Identifier: Apache-2.0
 *
 * Any process may raise its own score; lowering it again needs a privilege.
 */
#include "daemon/worker/oom.h"

#include <stdio.h>

#define MOST 1000

void oom_yield(void) {
    FILE *f = fopen("/proc/self/oom_score_adj", "r+e");
    int score;

    if (!f) return;
    if (fscanf(f, "%d", &score) == 1 && score < MOST) {
        score += OOM_AFTER_BROKER;
        rewind(f);
        fprintf(f, "%d", score < MOST ? score : MOST);
    }
    fclose(f);
}
