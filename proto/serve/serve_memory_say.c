/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/serve/serve_memory_say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int serve_memory_say(struct serve_memory_why *why, const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    vsnprintf(why->text, sizeof(why->text), fmt, args);
    va_end(args);
    return -EINVAL;
}

int serve_memory_say_of(struct serve_memory_why *why, uint32_t index, const char *name) {
    struct serve_memory_why what = *why;

    if (!name) return serve_memory_say(why, "tensor %u: %.150s", index, what.text);
    return serve_memory_say(why, "tensor %u (%.32s): %.140s", index, name, what.text);
}
