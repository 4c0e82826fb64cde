/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/complaint.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void complaint_clean(char *text) {
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
}

int complaint_say(struct complaint *c, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(c->text, sizeof(c->text), fmt, ap);
    va_end(ap);
    complaint_clean(c->text);
    return -EINVAL;
}

int complaint_memory(struct complaint *c) {
    complaint_say(c, "it needs more memory to be read than a model may take");
    return -ENOMEM;
}
