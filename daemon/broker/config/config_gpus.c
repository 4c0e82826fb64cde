/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections [gpu N]: values of options of [gpu] and [schedule] for one GPU. They are stored as text,
 * and applied over the common values when the GPU's configuration is built.
 */
#include "daemon/broker/config/config_gpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/text/units.h"
#include "daemon/broker/config/config_memory.h"

static const char *number_in(const char *section) {
    return strncmp(section, "gpu ", 4) == 0 ? section + 4 + strspn(section + 4, " ") : NULL;
}

bool config_gpus_is(const char *section) {
    return number_in(section) != NULL;
}

/* The option may be set per GPU; the number of GPUs may not. */
static bool may_have(const struct config_option *o) {
    return o && (strcmp(o->section, "gpu") == 0 || strcmp(o->section, "schedule") == 0) &&
           strcmp(o->name, "gpus") != 0;
}

static int place_of(const struct config_option *o) {
    int count;

    return (int)(o - config_options(&count));
}

/* Returns the rule of the option, or a new one; NULL: there are too many. */
static struct config_gpu_rule *find(struct config *c, uint32_t gpu, int option) {
    for (unsigned i = 0; i < c->gpu_rule_count; i++)
        if (c->gpu_rules[i].gpu == gpu && (int)c->gpu_rules[i].option == option)
            return &c->gpu_rules[i];
    return c->gpu_rule_count < CONFIG_GPU_RULES_MAX ? &c->gpu_rules[c->gpu_rule_count++] : NULL;
}

/* Checks that the option accepts the value, and that it can be stored. */
static int try_value(const char *name, const char *value, char *why, size_t cap) {
    struct config scratch;

    if (strlen(value) < CONFIG_TEXT_BYTES) return config_set(&scratch, name, value, why, cap);
    snprintf(why, cap, "%s: longer than %d bytes", name, CONFIG_TEXT_BYTES - 1);
    return -EINVAL;
}

int config_gpus_set(struct config *c, const char *section, const char *name, const char *value,
                    const char *origin, char *why, size_t cap) {
    const struct config_option *o = config_find(name, strlen(name));
    struct config_gpu_rule *rule;
    uint64_t gpu;

    if (units_parse(UNITS_NONE, number_in(section), &gpu) < 0 || gpu >= CONFIG_GPUS_MAX) {
        snprintf(why, cap, "section [%.40s]: a GPU's number is from 0 to %d", section,
                 CONFIG_GPUS_MAX - 1);
        return -EINVAL;
    }
    if (!may_have(o)) {
        snprintf(why, cap,
                 "key '%.64s' cannot be set in [%.40s]; a GPU's section takes keys of [gpu] and "
                 "[schedule]",
                 name, section);
        return -EINVAL;
    }
    if (try_value(name, value, why, cap) < 0) return -EINVAL;
    rule = find(c, (uint32_t)gpu, place_of(o));
    if (!rule) {
        snprintf(why, cap,
                 "section [%.40s]: the sections of all GPUs together set more than %d values; set "
                 "common values in [gpu]",
                 section, CONFIG_GPU_RULES_MAX);
        return -EINVAL;
    }
    *rule =
        (struct config_gpu_rule){.gpu = (uint32_t)gpu, .option = (enum config_place)place_of(o)};
    snprintf(rule->value, sizeof(rule->value), "%s", value);
    snprintf(rule->origin, sizeof(rule->origin), "%s", origin);
    return 0;
}

static const struct config_option *option_of(const struct config_gpu_rule *r) {
    int count;

    return &config_options(&count)[r->option];
}

void config_gpus_apply(const struct config *c, uint32_t gpu, struct config *out) {
    char why[CONFIG_WHY_BYTES];

    *out = *c;
    for (unsigned i = 0; i < c->gpu_rule_count; i++) {
        const struct config_gpu_rule *r = &c->gpu_rules[i];
        const char *name = option_of(r)->name;

        if (r->gpu != gpu || config_set(out, name, r->value, why, sizeof(why)) < 0) continue;
        config_said(out, name, "%s", r->origin);
    }
}

void config_gpus_print(const struct config *c, FILE *out) {
    for (uint32_t gpu = 0; gpu < CONFIG_GPUS_MAX; gpu++) {
        bool any = false;

        for (unsigned i = 0; i < c->gpu_rule_count; i++) {
            const struct config_gpu_rule *r = &c->gpu_rules[i];

            if (r->gpu != gpu) continue;
            if (!any) fprintf(out, "\n[gpu %u]\n", gpu);
            fprintf(out, "%s = %s\n", option_of(r)->name, r->value);
            any = true;
        }
    }
}

/* ---- all sections --------------------------------------------------------------------------- */

/* Checks a GPU's memory if its section sets that; the common value is checked elsewhere. */
static int check_gpu(const struct config *c, uint32_t gpu, FILE *errors) {
    struct config own;

    config_gpus_apply(c, gpu, &own);
    return own.device_memory == c->device_memory ? 0 : config_memory_check(&own, errors);
}

/* Builds the GPU's configuration in *own, and prints the driver's GPU that it uses into `id`: its
 * device_id, or else its number. */
static void device_of(const struct config *c, uint32_t gpu, struct config *own,
                      char id[CONFIG_TEXT_BYTES]) {
    config_gpus_apply(c, gpu, own);
    if (own->device_id[0])
        snprintf(id, CONFIG_TEXT_BYTES, "%s", own->device_id);
    else
        snprintf(id, CONFIG_TEXT_BYTES, "%u", gpu);
}

/* Reports a GPU that uses the same device of the driver as an earlier one: each would take all of
 * its memory. */
static int check_device(const struct config *c, uint32_t gpu, FILE *errors) {
    char id[CONFIG_TEXT_BYTES], other_id[CONFIG_TEXT_BYTES];
    struct config own, other;

    device_of(c, gpu, &own, id);
    for (uint32_t i = 0; i < gpu && strcmp(own.device, "cuda") == 0; i++) {
        device_of(c, i, &other, other_id);
        if (strcmp(other.device, "cuda") == 0 && strcmp(other.driver, own.driver) == 0 &&
            strcasecmp(id, other_id) == 0)
            return config_complain(
                &own, CONFIG_O_device_id, errors,
                "GPUs %u and %u both use device %s of the driver; set another device_id for one", i,
                gpu, id);
    }
    return 0;
}

/* Only the software GPU can be deterministic: a real GPU runs blocks in an order of its own. */
static int check_deterministic(const struct config *c, uint32_t gpu, FILE *errors) {
    struct config own;

    config_gpus_apply(c, gpu, &own);
    if (strcmp(own.deterministic, "yes") != 0 || strcmp(own.device, "soft") == 0) return 0;
    return config_complain(&own, CONFIG_O_deterministic, errors,
                           "only the software GPU can be deterministic, and GPU %u uses the "
                           "driver; set device = soft, or deterministic = no",
                           gpu);
}

int config_gpus_check(const struct config *c, FILE *errors) {
    int bad = 0;

    for (unsigned i = 0; i < c->gpu_rule_count; i++) {
        const struct config_gpu_rule *r = &c->gpu_rules[i];

        if (r->gpu < c->gpus) continue;
        fprintf(errors,
                "%s: section [gpu %u]: salusd has %llu GPUs, numbered from 0; raise gpus, or "
                "remove the section\n",
                r->origin, r->gpu, (unsigned long long)c->gpus);
        bad++;
    }
    for (uint32_t gpu = 0; c->gpu_rule_count && gpu < c->gpus; gpu++)
        bad += check_gpu(c, gpu, errors);
    for (uint32_t gpu = 1; gpu < c->gpus; gpu++)
        bad += check_device(c, gpu, errors);
    for (uint32_t gpu = 0; gpu < c->gpus; gpu++)
        bad += check_deterministic(c, gpu, errors);
    return bad;
}

static bool has_rule(const struct config *c, const struct config_gpu_rule *r) {
    for (unsigned i = 0; i < c->gpu_rule_count; i++) {
        const struct config_gpu_rule *o = &c->gpu_rules[i];

        if (o->gpu == r->gpu && o->option == r->option) return strcmp(o->value, r->value) == 0;
    }
    return false;
}

/* Counts settings of `c` that need a restart and that `other` lacks or has with another value. */
static int note_missing(const struct config *c, const struct config *other, const char *what,
                        FILE *notes) {
    int count = 0;

    for (unsigned i = 0; i < c->gpu_rule_count; i++) {
        const struct config_gpu_rule *r = &c->gpu_rules[i];

        if (option_of(r)->reloadable || has_rule(other, r)) continue;
        fprintf(notes, "[gpu %u] %s = %s: %s after a restart\n", r->gpu, option_of(r)->name,
                r->value, what);
        count++;
    }
    return count;
}

int config_gpus_reload(struct config *running, const struct config *fresh, FILE *notes) {
    int kept = note_missing(fresh, running, "applies", notes) +
               note_missing(running, fresh, "no longer applies", notes);
    unsigned count = 0;

    for (unsigned i = 0; i < running->gpu_rule_count; i++)
        if (!option_of(&running->gpu_rules[i])->reloadable)
            running->gpu_rules[count++] = running->gpu_rules[i];
    for (unsigned i = 0; i < fresh->gpu_rule_count && count < CONFIG_GPU_RULES_MAX; i++)
        if (option_of(&fresh->gpu_rules[i])->reloadable)
            running->gpu_rules[count++] = fresh->gpu_rules[i];
    running->gpu_rule_count = count;
    return kept;
}
