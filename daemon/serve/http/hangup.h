/* SPDX-License-Identifier: Apache-2.0
 *
 * Who hangs up, or closes its sending half. The library does not see it while a connection waits
 * for its answer, nor where the end comes together with the last bytes. The descriptor becomes
 * readable when one did. In the loop's thread.
 */
#ifndef DAEMON_SERVE_HTTP_HANGUP_H
#define DAEMON_SERVE_HTTP_HANGUP_H

struct hangup {
    int fd; /* of epoll, ours */
};

int hangup_init(struct hangup *h);
void hangup_finish(struct hangup *h);

/* `socket` is watched until it is closed. 0 or -errno. */
int hangup_watch(struct hangup *h, int socket, void *who);

/* One whose peer hung up since it was last asked, or NULL. */
void *hangup_next(struct hangup *h);

#endif
