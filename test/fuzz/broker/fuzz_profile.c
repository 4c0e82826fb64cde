/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as the file of profiles: the parser must not read outside it, nor accept text that does
 * not print as the same table again. A rejected file leaves no entries and gives a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/broker/store/program_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct program_profiles p, again;
    char why[PROGRAM_PROFILE_WHY_BYTES] = "";
    struct buf b;

    program_profile_init(&p);
    program_profile_init(&again);
    buf_init(&b);
    if (program_profile_parse(&p, (const char *)data, n, why) < 0) {
        if (p.count || p.items || !*why) abort();
        return 0;
    }
    if (p.count > PROGRAM_PROFILE_MAX) abort();
    program_profile_print(&p, &b);
    if (program_profile_parse(&again, buf_str(&b), b.len, why) < 0 || again.count != p.count)
        abort();
    if (p.count && memcmp(again.items, p.items, p.count * sizeof(*p.items)) != 0) abort();
    program_profile_finish(&p);
    program_profile_finish(&again);
    buf_finish(&b);
    return 0;
}
