/* SPDX-License-Identifier: Apache-2.0
 *
 * systemd's notification protocol, which is one datagram; nothing happens without NOTIFY_SOCKET.
 */
#ifndef DAEMON_BROKER_NOTIFY_H
#define DAEMON_BROKER_NOTIFY_H

#include <stdint.h>

/* Reads NOTIFY_SOCKET, once: before there are threads that may change the environment. -EINVAL: it
 * is no address, and nobody is told anything. */
int notify_begin(void);

/* "READY=1", "STOPPING=1", ... 0, also when nobody listens; -errno. */
int notify_send(const char *state);

/* How often systemd wants "WATCHDOG=1", in milliseconds and already halved; 0: never. */
uint64_t notify_watchdog_ms(void);

#endif
