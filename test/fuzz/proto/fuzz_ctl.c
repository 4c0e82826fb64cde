/* SPDX-License-Identifier: Apache-2.0
 *
 * Control messages: the decoders must not read outside the input, allocate beyond a bound, or
 * accept input that does not encode again to the same request.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/control/ctl_msg.h"

static void see(void *arg, const void *record) {
    enum ctl_record kind = *(enum ctl_record *)arg;
    int count;
    const struct ctl_field *f = ctl_fields(kind, &count);

    for (int i = 0; i < count; i++)
        if (f[i].kind == CTL_KIND_TEXT && !memchr(ctl_field_text(record, &f[i]), 0, CTL_TEXT_BYTES))
            abort(); /* unterminated text */
}

static void try_request(const uint8_t *data, size_t n) {
    struct ctl_request r, again;
    enum ctl_error error;
    char why[CTL_MSG_WHY_BYTES] = "", other[CTL_MSG_WHY_BYTES];
    unsigned char buf[2048];
    size_t bytes;

    if (ctl_msg_request_decode(data, n, &r, &error, why, sizeof(why)) < 0) {
        if (!*why || error >= CTL_E_COUNT) abort();
        return;
    }
    if (ctl_msg_scan(data, n, CTL_MSG_REQUEST_ITEMS, why, sizeof(why)) < 0) abort();
    if (ctl_msg_request_encode(&r, buf, sizeof(buf), &bytes) < 0) abort();
    if (ctl_msg_request_decode(buf, bytes, &again, &error, other, sizeof(other)) < 0) abort();
    if (memcmp(&again, &r, sizeof(r)) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char why[CTL_MSG_WHY_BYTES] = "";
    struct ctl_reply reply;

    try_request(data, n);
    for (int kind = 0; kind < CTL_RECORD_COUNT; kind++) {
        enum ctl_record k = kind;

        if (ctl_msg_reply_decode(data, n, k, &reply, see, &k, why, sizeof(why)) < 0 && !*why)
            abort();
    }
    return 0;
}
