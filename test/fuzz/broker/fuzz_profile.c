/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of profiles: no text may make the parser read outside it or accept what does not print
 * as the same table again; a refusal leaves nothing and says why.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/broker/store/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct profiles p, again;
    char why[PROFILE_WHY_BYTES] = "";
    struct buf b;

    profile_init(&p);
    profile_init(&again);
    buf_init(&b);
    if (profile_parse(&p, (const char *)data, n, why) < 0) {
        if (p.count || p.items || !*why) abort();
        return 0;
    }
    if (p.count > PROFILE_MAX) abort();
    profile_print(&p, &b);
    if (profile_parse(&again, buf_str(&b), b.len, why) < 0 || again.count != p.count) abort();
    if (p.count && memcmp(again.items, p.items, p.count * sizeof(*p.items)) != 0) abort();
    profile_finish(&p);
    profile_finish(&again);
    buf_finish(&b);
    return 0;
}
