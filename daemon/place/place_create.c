/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates a placement without nodes: fills in defaults and rejects invalid configurations.
 */
#include "daemon/place/place_create.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/place/assignment/answer.h"
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/queue/rounds.h"
#include "daemon/place/search/search.h"
#include "daemon/place/state/curve.h"
#include "daemon/place/state/place_policy.h"

#define BATCH 15u /* beta, jobs of a round (Horus, section 5.2) */
#define WARM_NS 60000000000
#define PATIENCE 100u
#define RATIO_MOST 1e6
#define MORE_MOST 1e6

/* The slowdown curve of Horus, section 3.2, for an RTX 2080. */
static const struct place_curve rtx_2080 = {1.16664, -0.00302, 4e-5};

static void preset(double *value, double to) {
    if (*value == 0) *value = to;
}

static void preset_count(uint32_t *value, uint32_t to) {
    if (!*value) *value = to;
}

static struct place_config filled(struct place_config c, const struct place_policy *policy) {
    preset_count(&c.queues, policy->queues);
    preset_count(&c.batch, BATCH);
    preset_count(&c.patience, PATIENCE);
    if (c.w_mem == 0 && c.w_util == 0) c.w_mem = c.w_util = 1;
    preset(&c.more, 1.5);
    preset(&c.drop, 0.5);
    preset(&c.separate_ratio, 5);
    preset(&c.util_most, policy->util_most);
    if (!c.warm_ns) c.warm_ns = WARM_NS;
    if (!c.curve_count) c.curves[c.curve_count++] = rtx_2080;
    c.policy = policy->name;
    return c;
}

__attribute__((format(printf, 3, 4))) static int refuse(char *why, size_t cap, const char *format,
                                                        ...) {
    va_list args;
    va_start(args, format);
    if (why) vsnprintf(why, cap, format, args);
    va_end(args);
    return -EINVAL;
}

static bool is_weight(double w) {
    return w >= 0 && w <= 1e9;
}

static int check_curves(const struct place_config *c, char *why, size_t cap) {
    if (c->curve_count > PLACE_CURVES_MOST)
        return refuse(why, cap, "there are at most %u curves", PLACE_CURVES_MOST);
    for (uint32_t i = 0; i < c->curve_count; i++)
        if (!curve_is_sound(&c->curves[i]))
            return refuse(why, cap, "the coefficients of curve %u must be from -1000000 to 1000000",
                          i);
    return 0;
}

static int check(const struct place_config *c, char *why, size_t cap) {
    if (c->memory != PLACE_MEMORY_SUM && c->memory != PLACE_MEMORY_LANES)
        return refuse(why, cap, "the memory mode is unknown: use sum or lanes");
    if (c->queues > KMEANS_MOST)
        return refuse(why, cap, "there are at most %u queues", KMEANS_MOST);
    if (!is_weight(c->w_mem) || !is_weight(c->w_util))
        return refuse(why, cap, "a weight must be a number from 0 to a billion");
    if (!(c->more > 1 && c->more <= MORE_MOST))
        return refuse(why, cap,
                      "the factor for the memory of a job that ran out of it must be above 1");
    if (!(c->drop > 0 && c->drop < 1))
        return refuse(why, cap, "the drop in speed that counts must be between 0 and 1");
    if (c->warm_ns < 0) return refuse(why, cap, "the warm-up time must not be negative");
    if (!(c->separate_ratio > 0 && c->separate_ratio <= RATIO_MOST))
        return refuse(why, cap, "the ratio must be a number above 0 and at most a million");
    if (c->util_most != 0 && !(c->util_most >= 1 && c->util_most <= 1e6))
        return refuse(why, cap,
                      "util_most must be 1 or more, since a job alone may use a whole GPU");
    return check_curves(c, why, cap);
}

static struct place *create(const struct place_config *c, const struct place_policy *policy) {
    struct place *p = calloc(1, sizeof(*p));
    if (!p) return NULL;
    p->config = *c;
    p->policy = policy;
    p->util_most_ppm = c->util_most > 0 ? curve_ppm(c->util_most) : UINT64_MAX;
    p->changes = p->passed = 1;
    p->kept_for = JOBS_NONE;
    nodes_init(&p->nodes);
    place_gpus_init(&p->gpus);
    jobs_init(&p->jobs);
    hosts_init(&p->hosts);
    return p;
}

int place_create(struct place **out, const struct place_config *config, char *why, size_t cap) {
    const struct place_policy *policy = place_policies_find(config->policy);
    if (!policy) return refuse(why, cap, "there is no policy '%s'", config->policy);
    struct place_config c = filled(*config, policy);
    int err = check(&c, why, cap);
    if (err) return err;
    struct place *p = create(&c, policy);
    if (!p) {
        refuse(why, cap, "out of memory");
        return -ENOMEM;
    }
    *out = p;
    return 0;
}

void place_destroy(struct place *p) {
    if (!p) return;
    nodes_finish(&p->nodes);
    place_gpus_finish(&p->gpus);
    node_models_finish(&p->makes);
    index_finish(&p->index);
    hosts_finish(&p->hosts);
    jobs_finish(&p->jobs);
    search_finish(&p->search);
    rounds_finish(&p->rounds);
    answer_finish(&p->answer);
    free(p);
}
