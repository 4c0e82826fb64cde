/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends requests.
 */
#include "daemon/serve/gateway/served/served_end.h"

#include "daemon/serve/gateway/served/served_profile.h"
#include "daemon/serve/http/front_reply.h"

void served_end(struct served *s, struct asked *asked, enum served_end end,
                const struct refusal *why) {
    s->ends[end]++;
    s->latency_ns += uv_hrtime() - asked->arrived_ns;
    served_profile_end(asked, end);
    if (why) front_refuse(asked->reply, why);
    unanswered_remove(&s->asking, asked);
}
