/* SPDX-License-Identifier: Apache-2.0
 *
 * Only a regular file is accepted: a pipe could make the worker wait for its reader.
 */
#include "daemon/worker/link/events_link.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "common/log.h"

static void stop_recording(struct events_link *l) {
    int err = recorder_stop(l->recorder);
    if (err)
        log_warn("worker",
                 "event=recording_lost error=%s text=\"the recording of scheduler events is "
                 "incomplete\"",
                 err_name(err));
    else
        log_info("worker", "event=recording_ended");
}

static int start_recording(struct events_link *l, int fd) {
    struct stat st;
    if (fstat(fd, &st) < 0) return -errno;
    if (!S_ISREG(st.st_mode)) return -EINVAL;
    int ours = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (ours < 0) return -errno;
    int err = recorder_stream(l->recorder, l->sched, ours);
    if (err) close(ours);
    return err;
}

void events_link_take(struct events_link *l, uint64_t now_ns, const struct wire_worker_msg *msg,
                      int fd) {
    l->until_ns = now_ns + msg->for_ns;
    if (fd >= 0) {
        int err = start_recording(l, fd);
        if (err)
            log_warn("worker",
                     "event=not_recording error=%s text=\"the worker cannot start to record "
                     "scheduler events\"",
                     err_name(err));
        else
            log_info("worker", "event=recording for_ns=%llu", (unsigned long long)msg->for_ns);
    }
    events_link_update(l, now_ns);
}

void events_link_update(struct events_link *l, uint64_t now_ns) {
    if (!recorder_streaming(l->recorder)) return;
    if (now_ns >= l->until_ns || recorder_failing(l->recorder)) stop_recording(l);
}
