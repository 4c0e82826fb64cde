/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan of frameworks.h, said and not done.
 */
#include "daemon/ctl/checks.h"
#include "daemon/ctl/frameworks.h"

void checks_frameworks(struct findings *f, bool soft) {
    static struct frameworks_setting settings[FRAMEWORKS_MAX];
    struct frameworks_choice choice = {true, soft};
    int count = frameworks_plan(&choice, settings);

    for (int i = 0; i < count; i++)
        findings_add(f, FINDINGS_OK, "run sets", NULL, "%s=%.300s (%s: %s)", settings[i].variable,
                     settings[i].value, settings[i].framework, settings[i].why);
}
