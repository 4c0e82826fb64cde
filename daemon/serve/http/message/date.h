/* SPDX-License-Identifier: Apache-2.0
 *
 * The current time in HTTP's format (RFC 9110, 5.6.7), formatted once per second. Owner: the
 * caller. One thread.
 */
#ifndef DAEMON_SERVE_HTTP_MESSAGE_DATE_H
#define DAEMON_SERVE_HTTP_MESSAGE_DATE_H

#include <time.h>

struct date {
    time_t at;     /* time of `text`; 0: none yet */
    char text[80]; /* 29 bytes are used for years up to 9999 */
};

/* The text for that second, valid until the next call. */
const char *date_text(struct date *d, time_t now_s);

#endif
