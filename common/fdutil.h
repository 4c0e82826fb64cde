/* SPDX-License-Identifier: Apache-2.0
 *
 * File descriptors across processes: sealed memfds, SCM_RIGHTS, eventfds. No ownership is taken of
 * descriptors that are passed in; those returned belong to the caller.
 */
#ifndef COMMON_FDUTIL_H
#define COMMON_FDUTIL_H

#include <stddef.h>
#include <stdint.h>

#define FDUTIL_MAX_FDS 8
#define FDUTIL_LOST (-1) /* see fdutil_recv */

/* For daemons: raises how many descriptors this process may have, and how large its files may be,
 * as far as it may; shared memory counts as files. A file beyond that is an error from now on
 * (-EFBIG), not a signal. select() cannot have descriptors above 1023: daemons that use it, and
 * programs that daemons run, need the limits from before. */
void fdutil_raise_limits(void);

/* Gives a child of ours the limits that this process had before they were raised, if they were. */
void fdutil_lower_limits(int pid);

/* How many descriptors this process may have; UINT64_MAX: not known. */
uint64_t fdutil_limit(void);

/* True for errors that say that descriptors or memory ran out, of this process or of the system:
 * they are nobody's fault, and pass. */
int fdutil_scarce(int err);

/* A zeroed memfd of fixed size (F_SEAL_SHRINK | F_SEAL_GROW; F_SEAL_SEAL too unless `open_seals`,
 * which leaves its maker free to add F_SEAL_FUTURE_WRITE later). Close-on-exec. -errno on failure.
 */
int fdutil_memfd(const char *name, size_t bytes, int open_seals);

/* Adds F_SEAL_FUTURE_WRITE and F_SEAL_SEAL: mappings made before stay writable, none can be added.
 */
int fdutil_seal_readonly(int fd);

/* 0 when `fd` is a memfd that can neither shrink nor grow and holds at least `bytes`; else -EINVAL.
 * Call on every memfd received before mapping it: touching a truncated one raises SIGBUS. */
int fdutil_check_sealed(int fd, size_t bytes);

/* 0 when `fd` is a memfd of ordinary pages that cannot shrink, however large it becomes; *bytes is
 * what it holds now. Else -EINVAL. Another process may punch holes into it, which read as zeros. */
int fdutil_check_lasting(int fd, uint64_t *bytes);

/* Whether `fd` is a memfd, sealed or not: a file whose use and end wait for nobody. */
int fdutil_is_memfd(int fd);

/* What was written of a memfd, at or behind `from`: from *at to *end, whole pages of the system's.
 * Between such ranges are zeros that take no memory, and would when a mapping of them is read. 0;
 * -ENXIO: there is no more; or another -errno. */
int fdutil_written(int fd, uint64_t from, uint64_t *at, uint64_t *end);

/* 0 when `fd` is one end of a pair of SOCK_SEQPACKET sockets, from which nothing can be read any
 * more and in which nothing is: closing it waits for nobody, and all that it tells from now on is
 * that the other end hangs up. Else -EINVAL. */
int fdutil_check_end(int fd);

/* One message (of at least one byte) with `nfds` descriptors over a SOCK_SEQPACKET socket, EINTR
 * retried. Whole message or -errno. Receiving returns its length (0 at end of file); *nfds says how
 * many descriptors `fds` has room for and becomes how many came (both NULL: none are expected). A
 * message longer than `cap` or with more descriptors than expected gives -EPROTO, with every
 * received descriptor closed. Where this process may not have so many descriptors the message comes
 * without any, and *nfds becomes FDUTIL_LOST. Received ones are close-on-exec. What the peer said
 * before it hung up is received, whatever it left unread. */
int fdutil_send(int sock, const void *msg, size_t bytes, const int *fds, int nfds);
int fdutil_recv(int sock, void *msg, size_t cap, int *fds, int *nfds);

/* Closes and sets to -1; ignores -1; preserves errno. */
void fdutil_close(int *fd);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t fdutil_now_ns(void);

#endif
