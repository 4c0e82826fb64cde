/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/complaint.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* Length in bytes of a UTF-8 character that begins with this byte; 0 if none does. */
static size_t length_of(unsigned char first) {
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t complaint_character(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    size_t count = length_of(p[0]);

    for (size_t i = 1; i < count; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    switch (p[0]) {
    case 0xc2: return p[1] < 0xa0 ? 0 : count; /* C1 control character */
    case 0xe0: return p[1] < 0xa0 ? 0 : count; /* overlong encoding */
    case 0xed: return p[1] > 0x9f ? 0 : count; /* half of a UTF-16 surrogate pair */
    case 0xf0: return p[1] < 0x90 ? 0 : count;
    case 0xf4: return p[1] > 0x8f ? 0 : count; /* above U+10FFFF */
    default: return count;
    }
}

void complaint_clean(char *text) {
    for (char *p = text; *p;) {
        size_t count = complaint_character(p);

        if (count == 0 || (unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
        p += count ? count : 1;
    }
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
    complaint_say(c, "reading the model needs more memory than is allowed");
    return -ENOMEM;
}
