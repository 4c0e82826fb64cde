/* SPDX-License-Identifier: Apache-2.0
 *
 * File descriptors across processes: sealed memfds, SCM_RIGHTS, eventfds. Functions take no
 * ownership of descriptors that are passed in; descriptors that they return belong to the caller.
 */
#ifndef COMMON_FDUTIL_H
#define COMMON_FDUTIL_H

#include <stddef.h>
#include <stdint.h>

#define FDUTIL_MAX_FDS 8
#define FDUTIL_LOST (-1) /* see fdutil_recv */

/* Raises the limits on descriptors and file size of this process, a daemon, to their maximum;
 * shared memory counts as files. From then on a file beyond the limit is an error (-EFBIG), not a
 * signal. select() cannot handle descriptors above 1023: daemons that use it, and programs that
 * daemons run, need the old limits. */
void fdutil_raise_limits(void);

/* Gives a child process the limits that this process had before they were raised, if they were. */
void fdutil_lower_limits(int pid);

/* Returns the limit on descriptors of this process; UINT64_MAX: unknown. */
uint64_t fdutil_limit(void);

/* True for errors that say that this process or the system ran out of descriptors or memory. Such
 * errors are temporary and no client's fault. */
int fdutil_scarce(int err);

/* Creates a zeroed memfd of fixed size (F_SEAL_SHRINK | F_SEAL_GROW). Adds F_SEAL_SEAL unless
 * `open_seals`, which lets the caller add F_SEAL_FUTURE_WRITE later. Close-on-exec. Returns -errno
 * on failure. */
int fdutil_memfd(const char *name, size_t bytes, int open_seals);

/* Adds F_SEAL_FUTURE_WRITE and F_SEAL_SEAL: existing mappings stay writable, new writable ones are
 * impossible. */
int fdutil_seal_readonly(int fd);

/* Returns 0 if `fd` is a memfd that can neither shrink nor grow and has at least `bytes`; else
 * -EINVAL. Call this on every received memfd before mapping it: touching a truncated one raises
 * SIGBUS. */
int fdutil_check_sealed(int fd, size_t bytes);

/* Returns 0 if `fd` is a memfd of ordinary pages that cannot shrink but may grow; *bytes is its
 * present size. Else -EINVAL. Another process may punch holes into it, which read as zeros. */
int fdutil_check_lasting(int fd, uint64_t *bytes);

/* True if `fd` is a memfd, sealed or not: using and closing it never blocks. */
int fdutil_is_memfd(int fd);

/* Finds data written to a memfd at or behind `from`: from *at to *end, in whole system pages.
 * Between such ranges are zeros that take no memory, but would when a mapping of them is read.
 * Returns 0; -ENXIO if there is no more; or another -errno. */
int fdutil_written(int fd, uint64_t from, uint64_t *at, uint64_t *end);

/* Returns 0 if `fd` is one end of a pair of SOCK_SEQPACKET sockets that is empty and shut down for
 * reading; else -EINVAL. Closing such an end never blocks, and the only event on it is that the
 * other end hangs up. */
int fdutil_check_end(int fd);

/* Send or receive one message (of at least one byte) with `nfds` descriptors over a SOCK_SEQPACKET
 * socket, with EINTR retried. The whole message is transferred, or -errno is returned. Receiving
 * returns the length (0 at end of file). *nfds is the capacity of `fds` and becomes the number
 * received; both NULL: none are expected. A message longer than `cap` or with more descriptors than
 * expected gives -EPROTO, and every received descriptor is closed. If this process has no free
 * descriptors, the message comes without any and *nfds becomes FDUTIL_LOST. Received descriptors
 * are close-on-exec. Messages sent before the peer hung up are received, even if the peer left data
 * unread. */
int fdutil_send(int sock, const void *msg, size_t bytes, const int *fds, int nfds);
int fdutil_recv(int sock, void *msg, size_t cap, int *fds, int *nfds);

/* Closes *fd and sets it to -1; ignores -1; preserves errno. */
void fdutil_close(int *fd);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t fdutil_now_ns(void);

#endif
