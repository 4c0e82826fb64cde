/* SPDX-License-Identifier: Apache-2.0
 *
 * Explains refusals: with sizes for a job that is too large, else with the scheduler's reason.
 */
#include "daemon/sim/report/refused.h"

#include "common/text/units.h"
#include "daemon/policy/reason.h"

bool refused_why(const struct workload *w, const struct sim_job_result *r, uint32_t job,
                 char out[REFUSED_BYTES]) {
    char p[24], e[24], device[24];
    *out = '\0';
    if (!r->refused) return false;
    units_print_bytes(w->jobs[job].persistent_bytes, p, sizeof(p));
    units_print_bytes(w->jobs[job].ephemeral_bytes, e, sizeof(e));
    units_print_bytes(w->memory_bytes, device, sizeof(device));
    if (r->refused == SCHED_WHY_TOO_LARGE)
        snprintf(out, REFUSED_BYTES, "%s: %s persistent + %s ephemeral needed, the device has %s",
                 reason_why(r->refused), p, e, device);
    else if (r->refused == SCHED_WHY_MEMORY)
        snprintf(out, REFUSED_BYTES,
                 "the device had no memory left for the %s persistent + %s ephemeral memory that "
                 "the job turned out to need",
                 p, e);
    else
        snprintf(out, REFUSED_BYTES, "%s", reason_why(r->refused));
    return true;
}

void refused_lines(const struct workload *w, const struct sim_result *r, const char *policy,
                   FILE *out) {
    char why[REFUSED_BYTES];
    uint32_t said = 0;
    for (uint32_t i = 0; i < r->count && r->refused; i++) {
        if (!refused_why(w, &r->jobs[i], i, why)) continue;
        if (said++ < REFUSED_LINES)
            fprintf(out, "%s refuses %s: %s\n", policy, w->jobs[i].name, why);
    }
    if (said > REFUSED_LINES)
        fprintf(out, "%s refuses %u more jobs\n", policy, said - REFUSED_LINES);
}
