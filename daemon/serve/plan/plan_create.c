/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and destroys the scheduler: fills in defaults and rejects invalid configurations.
 */
#include "daemon/serve/plan/plan_create.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/plan/plan_core.h"
#include "daemon/serve/plan/policy/plan_policies.h"

#define PRESET_WINDOW_NS 300000000000ull
#define PRESET_REFRESH_NS 1000000000ull
#define PRESET_PRIOR_NS 10000000ull
/* schedule_ahead and latest_delta of Clockwork's controller */
#define PRESET_AHEAD_NS 10000000ull
#define PRESET_GRACE_NS 10000000ull

static const uint32_t preset_sizes[] = {1, 2, 4, 8, 16};

static void preset(uint64_t *value, uint64_t to) {
    if (!*value) *value = to;
}

static void fill_presets(struct plan_config *c) {
    if (!c->policy) c->policy = plan_policy_name(0);
    if (!c->size_count) {
        memcpy(c->sizes, preset_sizes, sizeof(preset_sizes));
        c->size_count = sizeof(preset_sizes) / sizeof(*preset_sizes);
    }
    if (!c->apps) c->apps = 1;
    preset(&c->window_ns, PRESET_WINDOW_NS);
    preset(&c->refresh_ns, PRESET_REFRESH_NS);
    preset(&c->prior_ns, PRESET_PRIOR_NS);
    preset(&c->ahead_ns, PRESET_AHEAD_NS);
    preset(&c->grace_ns, PRESET_GRACE_NS);
    if (c->c1 == 0) c->c1 = 1;
    if (c->b_per_ms == 0) c->b_per_ms = SCORE_B_PER_MS;
}

__attribute__((format(printf, 3, 4))) static int refuse(char *why, size_t why_bytes,
                                                        const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (why) vsnprintf(why, why_bytes, format, args);
    va_end(args);
    return -EINVAL;
}

static int check_sizes(const struct plan_config *c, char *why, size_t why_bytes) {
    if (c->size_count > PLAN_SIZES)
        return refuse(why, why_bytes, "there are at most %u batch sizes", PLAN_SIZES);
    if (c->sizes[0] != 1) return refuse(why, why_bytes, "the first batch size must be 1");
    for (uint32_t i = 1; i < c->size_count; i++)
        if (c->sizes[i] <= c->sizes[i - 1])
            return refuse(why, why_bytes, "batch sizes must ascend: %u comes after %u", c->sizes[i],
                          c->sizes[i - 1]);
    if (c->sizes[c->size_count - 1] > PLAN_BATCH_MOST)
        return refuse(why, why_bytes, "a batch has at most %u requests", PLAN_BATCH_MOST);
    return 0;
}

static int check_config(const struct plan_config *c, char *why, size_t why_bytes) {
    if (!plan_policy_find(c->policy))
        return refuse(why, why_bytes, "there is no policy '%.40s'", c->policy);
    if (c->apps > PLAN_APPS)
        return refuse(why, why_bytes, "there are at most %u applications", PLAN_APPS);
    if (!(c->c1 > 0) || !isfinite(c->c1))
        return refuse(
            why, why_bytes,
            "c1, the factor of a batch's time (c0 + c1 k l), must be a finite number above 0");
    if (!(c->b_per_ms > 0) || !(c->b_per_ms <= 1))
        return refuse(why, why_bytes, "b must be above 0 and at most 1 per millisecond");
    if (c->point_milli >= 1000) return refuse(why, why_bytes, "the quantile must be below 1");
    return check_sizes(c, why, why_bytes);
}

/* On failure some memory may be allocated; plan_destroy frees it. */
static int begin(struct plan *p) {
    int err = outlook_init(&p->st.outlook, &p->st.config);
    if (err) return err;
    p->st.own = calloc(1, p->policy->own_bytes);
    if (!p->st.own) return -ENOMEM;
    return p->policy->begin ? p->policy->begin(&p->st) : 0;
}

int plan_create(struct plan **out, const struct plan_config *config, char *why, size_t why_bytes) {
    struct plan_config filled = *config;
    fill_presets(&filled);
    int err = check_config(&filled, why, why_bytes);
    if (err) return err;
    struct plan *p = calloc(1, sizeof(*p));
    if (!p) return -ENOMEM;
    p->policy = plan_policy_find(filled.policy);
    p->st.config = filled;
    p->st.config.policy = p->policy->name; /* the caller's string may be freed */
    p->armed_ns = PLAN_FOREVER;
    err = begin(p);
    if (err)
        plan_destroy(p);
    else
        *out = p;
    return err;
}

void plan_destroy(struct plan *p) {
    if (!p) return;
    if (p->st.own) p->policy->finish(&p->st);
    free(p->st.own);
    outlook_finish(&p->st.outlook);
    roster_finish(&p->st.roster);
    free(p->actions);
    free(p->ids);
    free(p);
}
