/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that does not fit is cut off.
 */
#include "daemon/serve/infer/refusal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/serve/infer/text.h"

int refusal_say(struct refusal *r, int status, const char *fmt, ...) {
    va_list ap;

    if (r->status) return -EINVAL;
    va_start(ap, fmt);
    vsnprintf(r->text, sizeof(r->text), fmt, ap);
    va_end(ap);
    r->status = status;
    return -EINVAL;
}

int refusal_memory(struct refusal *r) {
    refusal_say(r, 503, "out of memory: try again later");
    r->retry_after_s = 1;
    return -ENOMEM;
}

void refusal_write(const struct refusal *r, struct buf *json) {
    buf_printf(json, "{\"error\":");
    text_write(json, r->text, strlen(r->text));
    buf_printf(json, "}");
}
