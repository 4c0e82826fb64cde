/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and destroys the library's state. Validates the configuration and replaces its zeroes by
 * defaults.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/tune/fluid_state.h"

#define PRESET_TRIALS 4096u
#define FLAGS                                                                               \
    (SALUS_FLUID_FRACTIONS | SALUS_FLUID_FILL | SALUS_FLUID_STATIC | SALUS_FLUID_DOWN_ANY | \
     SALUS_FLUID_FIFO | SALUS_FLUID_ROOM)

static void preset(uint32_t *value, uint32_t to) {
    if (!*value) *value = to;
}

static struct salus_fluid_config filled(struct salus_fluid_config c) {
    preset(&c.gpus_most, c.gpus);
    preset(&c.trials_most, PRESET_TRIALS);
    preset(&c.packed_most, 1);
    preset(&c.spread_most, 1);
    return c;
}

__attribute__((format(printf, 3, 4))) static int refuse(char *why, size_t why_bytes,
                                                        const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (why) vsnprintf(why, why_bytes, format, args);
    va_end(args);
    return -EINVAL;
}

static int check_config(const struct salus_fluid_config *c, char *why, size_t why_bytes) {
    if (c->gpus_most > SALUS_FLUID_GPUS_MOST)
        return refuse(why, why_bytes, "there are at most %u GPUs", SALUS_FLUID_GPUS_MOST);
    if (c->gpus > c->gpus_most)
        return refuse(why, why_bytes, "%u GPUs are more than %u", c->gpus, c->gpus_most);
    if (c->trials_most > SALUS_FLUID_TRIALS_MOST)
        return refuse(why, why_bytes, "there are at most %u trials at a time",
                      SALUS_FLUID_TRIALS_MOST);
    if (c->flags & ~(uint32_t)FLAGS)
        return refuse(why, why_bytes, "the flag %#x is unknown", c->flags & ~(uint32_t)FLAGS);
    if (c->change_ns < 0)
        return refuse(why, why_bytes, "the time of a change must not be negative");
    return 0;
}

/* Allocates the arrays. On failure some may be allocated; salus_fluid_destroy frees them. */
static int begin(struct salus_fluid *f) {
    const struct salus_fluid_config *c = &f->config;
    uint32_t n = c->trials_most;
    if (trials_init(&f->trials, n) || strips_init(&f->strips, c->gpus_most, c->gpus))
        return -ENOMEM;
    f->asks = calloc(n, sizeof(*f->asks));
    f->spare = calloc(n, sizeof(*f->spare));
    f->shown = calloc(n, sizeof(*f->shown));
    f->shown_gpus = calloc((size_t)n + c->gpus_most, sizeof(*f->shown_gpus));
    f->refusals = calloc(2 * (size_t)n, sizeof(*f->refusals));
    return f->asks && f->spare && f->shown && f->shown_gpus && f->refusals ? 0 : -ENOMEM;
}

int32_t salus_fluid_create(struct salus_fluid **out, const struct salus_fluid_config *config,
                           char *why, size_t why_bytes) {
    struct salus_fluid_config c = filled(*config);
    int err = check_config(&c, why, why_bytes);
    if (err) return err;
    struct salus_fluid *f = calloc(1, sizeof(*f));
    if (!f) return -ENOMEM;
    f->config = c;
    err = begin(f);
    if (err)
        salus_fluid_destroy(f);
    else
        *out = f;
    return err;
}

void salus_fluid_destroy(struct salus_fluid *f) {
    if (!f) return;
    trials_finish(&f->trials);
    strips_finish(&f->strips);
    free(f->asks);
    free(f->spare);
    free(f->shown);
    free(f->shown_gpus);
    free(f->refusals);
    free(f);
}

const char *salus_fluid_fault_text(uint32_t fault) {
    static const char *const texts[] = {
#define X(name, text) text,
        SALUS_FLUID_FAULTS(X)
#undef X
    };
    return fault < sizeof(texts) / sizeof(*texts) ? texts[fault] : "?";
}
