/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of queues, and their rounding to whole jobs.
 */
#include "daemon/place/queue/queues.h"

#include <math.h>

double queues_weight(uint32_t length, double median_s) {
    return fmax(length, median_s * length);
}

void queues_share(const double *weights, const uint32_t *lengths, uint32_t count, uint32_t batch,
                  uint32_t *given) {
    double sum = 0;
    for (uint32_t x = 0; x < count; x++) {
        sum += weights[x];
        given[x] = 0;
    }
    for (uint32_t n = 0; n < batch; n++) {
        uint32_t best = count;
        double lacks = 0;
        for (uint32_t x = 0; x < count; x++) {
            double part = weights[x] / sum * batch - given[x];
            if (given[x] == lengths[x] || (best < count && part <= lacks)) continue;
            best = x;
            lacks = part;
        }
        if (best == count) return;
        given[best]++;
    }
}
