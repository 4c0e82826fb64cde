/* SPDX-License-Identifier: Apache-2.0
 *
 * The time as HTTP writes it (RFC 9110, 5.6.7), made once a second. The caller's; for one thread.
 */
#ifndef DAEMON_SERVE_HTTP_MESSAGE_DATE_H
#define DAEMON_SERVE_HTTP_MESSAGE_DATE_H

#include <time.h>

struct date {
    time_t at;     /* what `text` says; 0: nothing yet */
    char text[80]; /* 29 of them are used, of years up to 9999 */
};

/* Of that second. There until the next call. */
const char *date_text(struct date *d, time_t now_s);

#endif
