/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of controllers.
 */
#include "daemon/sched/control/controller.h"

#include <string.h>

static const struct controller *const controllers[] = {
#define CONTROL_POLICY(name, sentence) &control_##name,
#include "daemon/policy/policies.def"
};
#define CONTROLLERS (sizeof(controllers) / sizeof(controllers[0]))

const struct controller *controller_find(const char *name) {
    for (uint32_t i = 0; i < CONTROLLERS; i++)
        if (strcmp(controllers[i]->name, name) == 0) return controllers[i];
    return NULL;
}

const struct controller *controller_at(uint32_t index) {
    return index < CONTROLLERS ? controllers[index] : NULL;
}

uint32_t controller_sms(const struct sched_state *st, double part) {
    uint32_t sms = (uint32_t)(part * st->sms + 0.5);
    if (sms >= st->sms) return 0;
    return sms ? sms : 1;
}
