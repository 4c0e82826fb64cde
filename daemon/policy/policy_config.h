/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy configuration: the policies in effect, and the parameters of the policies and
 * the scheduler's core (policies.def). The scheduler, the messages of broker and worker, and the
 * board use the same bytes. Times come first, so that padding occurs only at the end: an event of
 * the scheduler contains this struct.
 *
 * To fill one in, begin with parameters_clear (parameters.h). An unset parameter is -1 if it is a
 * SWITCH or AUTO, else 0; its preset then applies.
 */
#ifndef DAEMON_POLICY_POLICY_CONFIG_H
#define DAEMON_POLICY_POLICY_CONFIG_H

#include <stdint.h>

#define POLICY_NAME_BYTES 16

/* The field name of a parameter, used where the value has no unit, and the name of its member. */
#define PARAMETER_FIELD_SWITCH(name) name
#define PARAMETER_FIELD_AUTO(name) name
#define PARAMETER_FIELD_COUNT(name) name
#define PARAMETER_FIELD_TIME(name) name##_ns
#define PARAMETER_FIELD_PART(name) name
#define PARAMETER_WIDE_SWITCH(name)
#define PARAMETER_WIDE_AUTO(name)
#define PARAMETER_WIDE_COUNT(name)
#define PARAMETER_WIDE_TIME(name) uint64_t name##_ns;
#define PARAMETER_WIDE_PART(name)
#define PARAMETER_NARROW_SWITCH(name) int32_t name; /* 1 or 0 */
#define PARAMETER_NARROW_AUTO(name) int32_t name;   /* 1 or 0; -1: auto */
#define PARAMETER_NARROW_COUNT(name) uint32_t name;
#define PARAMETER_NARROW_TIME(name)
#define PARAMETER_NARROW_PART(name) uint32_t name; /* thousandths */

struct policy_config {
    char lane[POLICY_NAME_BYTES];    /* "": fair */
    char kernel[POLICY_NAME_BYTES];  /* "": streams */
    char control[POLICY_NAME_BYTES]; /* "": open */
#define PARAMETER(name, type, ...) PARAMETER_WIDE_##type(name)
#include "daemon/policy/policies.def"
#define PARAMETER(name, type, ...) PARAMETER_NARROW_##type(name)
#include "daemon/policy/policies.def"
};

#endif
