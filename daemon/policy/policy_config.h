/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy configuration: the policies in effect, and the parameters ("knobs") of the policies and
 * the scheduler's core (policies.def). The scheduler, the messages of broker and worker, and the
 * board use the same bytes. Times come first, so that padding occurs only at the end: an event of
 * the scheduler contains this struct.
 *
 * To fill one in, begin with knobs_clear (knobs.h). An unset knob is -1 if it is a SWITCH or AUTO,
 * else 0; its preset then applies.
 */
#ifndef DAEMON_POLICY_POLICY_CONFIG_H
#define DAEMON_POLICY_POLICY_CONFIG_H

#include <stdint.h>

#define POLICY_NAME_BYTES 16

/* The field name of a knob, used where the value has no unit, and the name of its member. */
#define KNOB_FIELD_SWITCH(name) name
#define KNOB_FIELD_AUTO(name) name
#define KNOB_FIELD_COUNT(name) name
#define KNOB_FIELD_TIME(name) name##_ns
#define KNOB_FIELD_PART(name) name
#define KNOB_WIDE_SWITCH(name)
#define KNOB_WIDE_AUTO(name)
#define KNOB_WIDE_COUNT(name)
#define KNOB_WIDE_TIME(name) uint64_t name##_ns;
#define KNOB_WIDE_PART(name)
#define KNOB_NARROW_SWITCH(name) int32_t name; /* 1 or 0 */
#define KNOB_NARROW_AUTO(name) int32_t name;   /* 1 or 0; -1: auto */
#define KNOB_NARROW_COUNT(name) uint32_t name;
#define KNOB_NARROW_TIME(name)
#define KNOB_NARROW_PART(name) uint32_t name; /* thousandths */

struct policy_config {
    char lane[POLICY_NAME_BYTES];    /* "": fair */
    char kernel[POLICY_NAME_BYTES];  /* "": streams */
    char control[POLICY_NAME_BYTES]; /* "": open */
#define KNOB(name, type, ...) KNOB_WIDE_##type(name)
#include "daemon/policy/policies.def"
#define KNOB(name, type, ...) KNOB_NARROW_##type(name)
#include "daemon/policy/policies.def"
};

#endif
