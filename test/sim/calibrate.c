/* SPDX-License-Identifier: Apache-2.0
 *
 * Searches the two parameters of contention (daemon/sched/policy/contention.h): every pair on a
 * grid, by the sum of the squares of the three relative errors against Table 2 of the Orion paper.
 * Prints the best pair, its errors, and how sharp the minimum is.
 */
#include <math.h>
#include <stdio.h>

#include "daemon/sched/policy/contention.h"
#include "test/lib/sched/table2.h"

#define SLOTS_FROM 1000 /* thousandths */
#define SLOTS_TO 1400
#define LEFT_FROM 800
#define LEFT_TO 1000
#define ALLOWED 0.02

static double error(const struct kdev_contention *c, int pair) {
    return table2_speedup(c, pair) / table2[pair].speedup - 1;
}

static double errors_squared(const struct kdev_contention *c) {
    double sum = 0;
    for (int pair = 0; pair < TABLE2_PAIRS; pair++)
        sum += error(c, pair) * error(c, pair);
    return sum;
}

static bool is_allowed(const struct kdev_contention *c) {
    for (int pair = 0; pair < TABLE2_PAIRS; pair++)
        if (fabs(error(c, pair)) >= ALLOWED) return false;
    return true;
}

static void show(const char *what, const struct kdev_contention *c) {
    printf("%s: slots %.3f, left %.3f\n", what, c->slots, c->left);
    for (int pair = 0; pair < TABLE2_PAIRS; pair++)
        printf("  %-18s %.3f, paper %.2f: %+.2f %%\n", table2[pair].name, table2_speedup(c, pair),
               table2[pair].speedup, 100 * error(c, pair));
}

int main(void) {
    const struct kdev_contention frozen = {.slots = CONTENTION_SLOTS / 1000.0,
                                           .left = CONTENTION_LEFT / 1000.0};
    struct kdev_contention best = frozen, low = {.slots = 2, .left = 2}, high = {.slots = 0};
    double least = INFINITY;
    for (int slots = SLOTS_FROM; slots <= SLOTS_TO; slots++)
        for (int left = LEFT_FROM; left <= LEFT_TO; left++) {
            struct kdev_contention c = {.slots = slots / 1000.0, .left = left / 1000.0};
            double sum = errors_squared(&c);
            if (sum < least) {
                least = sum;
                best = c;
            }
            if (!is_allowed(&c)) continue;
            low = (struct kdev_contention){.slots = fmin(low.slots, c.slots),
                                           .left = fmin(low.left, c.left)};
            high = (struct kdev_contention){.slots = fmax(high.slots, c.slots),
                                            .left = fmax(high.left, c.left)};
        }
    show("best", &best);
    printf("every error below 2 %%: slots %.3f to %.3f, left %.3f to %.3f\n", low.slots, high.slots,
           low.left, high.left);
    show("contention.h", &frozen);
    return 0;
}
