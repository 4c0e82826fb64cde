/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints policies.def as lines of text.
 */
#include "daemon/policy/policies_help.h"

#include "daemon/policy/parameters.h"
#include "daemon/policy/policies.h"

static void policies_of(enum policies_grain grain, FILE *out) {
    static const char *const headings[] = {"Lane policies", "Kernel policies", "Controllers"};
    const struct policies_entry *p;
    fprintf(out, "%s:\n", headings[grain]);
    for (int i = 0; (p = policies_at(i)); i++)
        if (p->grain == grain) fprintf(out, "    %-20s %s\n", p->name, p->sentence);
}

void policies_help(FILE *out) {
    const struct parameter *k;
    for (int grain = 0; grain < POLICIES_GRAINS; grain++)
        policies_of((enum policies_grain)grain, out);
    fputs("Their parameters, with their defaults:\n", out);
    for (int i = 0; (k = parameters_at(i)); i++) {
        char left[64];
        snprintf(left, sizeof(left), "%s=%s", k->name, k->preset);
        fprintf(out, "    %-20s %s%s%s\n", left, k->policy, *k->policy ? ": " : "", k->sentence);
    }
}
