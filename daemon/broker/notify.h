/* SPDX-License-Identifier: Apache-2.0
 *
 * systemd's notification protocol, which consists of single datagrams. Does nothing without
 * NOTIFY_SOCKET.
 */
#ifndef DAEMON_BROKER_NOTIFY_H
#define DAEMON_BROKER_NOTIFY_H

#include <stdint.h>

/* Reads NOTIFY_SOCKET once, before there are threads that could change the environment. Returns
 * -EINVAL for an invalid address; then nothing is ever sent. */
int notify_begin(void);

/* Sends "READY=1", "STOPPING=1", ... Returns 0, also without a socket, or -errno. */
int notify_send(const char *state);

/* Interval at which to send "WATCHDOG=1", in milliseconds and already halved; 0: never. */
uint64_t notify_watchdog_ms(void);

#endif
