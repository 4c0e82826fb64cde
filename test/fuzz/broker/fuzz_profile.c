/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as the file of profiles: the parser must not read outside it, nor accept text that does
 * not print as the same table again. A rejected file leaves no entries and gives a reason.
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
