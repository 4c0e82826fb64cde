/* SPDX-License-Identifier: Apache-2.0
 *
 * The knobs of the policy configuration, once: this list makes the message to the worker, its
 * command line, the arguments and fields of the control protocol, and the keys of `salusctl policy
 * set`. The scheduler's struct policy_config has the same names; bounds and defaults are the
 * options' of the configuration.
 *
 * X(field, style, argument, shown, key, option, sentence)
 *   style     SWITCH (yes, no), AUTO (yes, no, auto), COUNT, TIME (ns), PART (thousandths)
 *   argument  kind of the request's argument: INT, UINT
 *   shown     kind of the reply's field: TEXT, UINT, NS
 *   key       as people write it; option: the configuration's
 */
#ifndef PROTO_POLICY_CONFIG_H
#define PROTO_POLICY_CONFIG_H

/* clang-format off */
#define POLICY_KNOBS(X)                                                                        \
    X(exclusive, AUTO, INT, TEXT, exclusive, lane_exclusive,                                     \
      "whether one lane runs at a time")                                                         \
    X(swap, SWITCH, INT, TEXT, swap, swap,                                                       \
      "whether persistent memory may go to host memory")                                         \
    X(max_lanes, COUNT, UINT, UINT, max_lanes, max_lanes,                                        \
      "lanes that may be open; 0: as many as memory allows")                                     \
    X(overtakes, COUNT, UINT, UINT, overtakes, overtakes,                                        \
      "how often a waiting job may be overtaken")                                                \
    X(lease_factor, COUNT, UINT, UINT, lease_factor, lease_factor,                               \
      "lease of a turn, in iterations of its job")                                               \
    X(lease_ns, TIME, UINT, NS, lease, lease,                                                    \
      "lease of a job whose iterations are not known")                                           \
    X(inflight_cap, COUNT, UINT, UINT, inflight_cap, inflight_cap,                               \
      "operations of one job that may be on the device")                                         \
    X(preempt_ns, TIME, UINT, NS, preempt, preempt,                                              \
      "best-effort jobs have as many there as end within; 0: inflight_cap")                      \
    X(priorities, AUTO, INT, TEXT, priorities, priorities,                                       \
      "whether high-priority jobs have the device's own priority")                               \
    X(by_class, SWITCH, INT, TEXT, by_class, by_class,                                           \
      "orion: whether kernels must be of opposite class")                                        \
    X(by_size, SWITCH, INT, TEXT, by_size, by_size,                                              \
      "orion: whether kernels must need fewer SMs than sm_threshold")                            \
    X(sm_threshold, COUNT, UINT, UINT, sm_threshold, sm_threshold,                               \
      "orion: SM_THRESHOLD; 0: the device's SMs, then searched")                                 \
    X(dur_threshold, PART, UINT, TEXT, dur_threshold, dur_threshold,                       \
      "orion: best-effort time on the device, as a part of a request's")                         \
    X(slack, PART, UINT, TEXT, slack, slack,                                                     \
      "slack: what a request may lose, as a part of its time alone")                             \
    X(lookahead, COUNT, UINT, UINT, lookahead, lookahead,                                        \
      "slack: kernels of the request that it looks at")                                          \
    X(reef_queue, COUNT, UINT, UINT, reef_queue, reef_queue,                                     \
      "reef: best-effort kernels that may be on the device")
/* clang-format on */

#endif
