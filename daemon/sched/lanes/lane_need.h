/* SPDX-License-Identifier: Apache-2.0
 *
 * A job's requirements for a lane, and the result of looking for one.
 */
#ifndef DAEMON_SCHED_LANES_LANE_NEED_H
#define DAEMON_SCHED_LANES_LANE_NEED_H

#include <stdint.h>

#define LANE_NONE UINT32_MAX

struct lane_need {
    uint64_t persistent_bytes, ephemeral_bytes; /* P, E */
    uint32_t group; /* members of one group never share a lane; 0: none */
    uint32_t user;  /* jobs of different users never share a lane, unless lanes_share was called */
};

/* The result of FINDLANE (Algorithm 1, lines 21-39). */
enum lane_how {
    LANE_OPENED,   /* lines 27-29: a new lane of E */
    LANE_FITTED,   /* lines 31-33: the best fitting lane that exists */
    LANE_REPLACED, /* lines 35-38: an existing lane, now of size E */
    LANE_WAITS,    /* line 39: no lane now */
    LANE_NEVER,    /* P + E > C */
};

#endif
