/* SPDX-License-Identifier: Apache-2.0
 *
 * Root and the daemon's user act for everybody and on hints; others on their own profiles, and see
 * no others: which kernels somebody runs, and for how long, is not his neighbours' affair.
 */
#include "daemon/broker/control/kernel_verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/control/change.h"
#include "daemon/broker/control/kernel_report.h"
#include "daemon/broker/worker/kernel_link.h"
#include "daemon/kernels/ktext.h"

#define TOPIC "kernel"

static const char nothing_known[] = "no worker has said which device this is";

static int refuse(const struct kernel_asking *q, enum ctl_error error, const char *text,
                  const char *hint) {
    return ctl_msg_refusal(q->out, error, text, hint, q->bytes, q->n);
}

/* What is known now, and how much of it went somewhere. */
static int tell(const struct kernel_asking *q, uint64_t profiles, uint64_t hints) {
    const struct kset *set = &q->s->kernels.store.set;
    union ctl_any any = {0};

    snprintf(any.known.device, sizeof(any.known.device), "%s", set->device.name);
    any.known.sms = set->device.sms;
    any.known.profiles = set->count;
    any.known.hints = set->hint_count;
    any.known.moved_profiles = profiles;
    any.known.moved_hints = hints;
    ctl_msg_add(q->out, CTL_RECORD_KNOWN, &any);
    return ctl_msg_reply(q->out, 0, q->bytes, q->n);
}

/* Of another user, and the caller is not one who may see all. */
static bool foreign(const struct kernel_asking *q) {
    return ctl_msg_given(q->r, CTL_A_uid) && q->r->args.uid != q->uid && !change_permitted(q->uid);
}

static int refuse_foreign(const struct kernel_asking *q) {
    return refuse(q, CTL_E_NOT_PERMITTED, "these profiles are another user's",
                  "root and the daemon's user may see them");
}

static int show(const struct kernel_asking *q) {
    const struct kset *set = &q->s->kernels.store.set;
    struct ctl_request r = *q->r;
    char text[CTL_ARG_BYTES + 40];
    uint64_t next;

    if (foreign(q)) return refuse_foreign(q);
    if (!change_permitted(q->uid)) {
        r.given |= 1ull << CTL_A_uid;
        r.args.uid = q->uid;
    }
    if (r.verb == CTL_V_PROFILE_SHOW && !kernel_report_any(set, &r)) {
        snprintf(text, sizeof(text), "kernel '%s': no profile", r.args.name);
        return refuse(q, CTL_E_NOT_FOUND, text, "see 'salusctl profile list'");
    }
    next = kernel_report_list(set, &r, q->out);
    return ctl_msg_reply(q->out, next, q->bytes, q->n);
}

/* ---- import ---------------------------------------------------------------------------------- */

/* A copy of the text that came along, for the caller to free: a sealed memfd, so that reading it
 * neither waits nor ends early. */
static int read_text(int fd, char **out, size_t *bytes) {
    size_t done = 0;
    struct stat st;

    if (fd < 0 || fdutil_check_sealed(fd, 1) < 0 || fstat(fd, &st) < 0) return -EBADF;
    if (st.st_size > KTEXT_BYTES_MAX) return -EFBIG;
    *bytes = (size_t)st.st_size;
    *out = malloc(*bytes);
    if (!*out) return -ENOMEM;
    while (done < *bytes) {
        ssize_t n = pread(fd, *out + done, *bytes - done, (off_t)done);

        if (n <= 0) {
            free(*out);
            return n < 0 ? -errno : -EIO;
        }
        done += (size_t)n;
    }
    return 0;
}

static int refuse_text(const struct kernel_asking *q, int rc, const char *why) {
    switch (rc) {
    case -EBADF:
        return refuse(q, CTL_E_BAD_REQUEST, "no sealed memfd with a text came along",
                      "use 'salusctl profile import'");
    case -EFBIG:
        return refuse(q, CTL_E_BAD_REQUEST, "the text is longer than any that is written",
                      "import parts of it");
    case -EINVAL: return refuse(q, CTL_E_BAD_REQUEST, why, "see salusctl(1)");
    case -EXDEV:
        return refuse(q, CTL_E_FAILED, why,
                      "with --any-device its classes and SMs are taken, its times are not");
    case -EPERM:
        return refuse(q, CTL_E_NOT_PERMITTED, why,
                      "root and the daemon's user may import for others");
    default: return refuse(q, CTL_E_FAILED, err_text(rc), "see 'journalctl -u salusd'");
    }
}

static int take_over(struct kernel_asking *q, const struct kset *from, char *why) {
    bool all = change_permitted(q->uid);

    if (!all && from->hint_count) {
        snprintf(why, KPROFILE_WHY_BYTES, "what tables say counts for all users' kernels");
        return -EPERM;
    }
    return kernel_store_import(&q->s->kernels.store, from, all ? KSET_ANYBODY : q->uid, why);
}

static int import(struct kernel_asking *q) {
    char why[KPROFILE_WHY_BYTES] = "", *text = NULL;
    uint64_t profiles, hints;
    struct kset from;
    size_t bytes = 0;
    int rc;

    if (!q->s->kernels.store.known)
        return refuse(q, CTL_E_FAILED, nothing_known, "see 'salusctl status'");
    rc = read_text(q->in_fd, &text, &bytes);
    kset_init(&from, q->s->kernels.store.set.seed);
    if (rc == 0) {
        rc = ktext_parse(&from, text, bytes, why);
        free(text);
    }
    if (rc == 0) rc = take_over(q, &from, why);
    profiles = from.count;
    hints = from.hint_count;
    kset_finish(&from);
    log_write(TOPIC, rc < 0 ? LOG_WARN : LOG_INFO,
              "event=import uid=%u profiles=%u hints=%u result=%s why=\"%s\"", (unsigned)q->uid,
              (unsigned)profiles, (unsigned)hints, rc < 0 ? err_name(rc) : "ok", why);
    if (rc < 0) return refuse_text(q, rc, why);
    kernel_link_imported(q->s);
    return tell(q, profiles, hints);
}

/* ---- export ---------------------------------------------------------------------------------- */

/* A user's profiles without hints, which are everybody's, so that he can import them again. */
static int select_user(const struct kset *s, uint64_t uid, struct kset *out) {
    uint32_t *order = kset_order(s);
    int rc = order ? 0 : -ENOMEM;

    kset_init(out, s->seed);
    out->device = s->device;
    for (uint32_t i = 0; i < s->count && rc == 0; i++)
        if (s->items[order[i]].key.uid == uid) rc = kset_learn(out, &s->items[order[i]]);
    free(order);
    return rc;
}

static int export(struct kernel_asking *q) {
    const struct kset *set = &q->s->kernels.store.set;
    bool given = ctl_msg_given(q->r, CTL_A_uid), all = !given && change_permitted(q->uid);
    uint64_t uid = given ? q->r->args.uid : q->uid, profiles, hints;
    struct kset own;
    int fd = 0;

    if (!q->s->kernels.store.known)
        return refuse(q, CTL_E_FAILED, nothing_known, "see 'salusctl status'");
    if (foreign(q)) return refuse_foreign(q);
    kset_init(&own, set->seed);
    if (!all) fd = select_user(set, uid, &own);
    if (fd == 0) fd = kwire_text(all ? set : &own);
    profiles = all ? set->count : own.count;
    hints = all ? set->hint_count : 0;
    kset_finish(&own);
    if (fd < 0) return refuse(q, CTL_E_FAILED, err_text(fd), "see 'journalctl -u salusd'");
    q->out_fd = fd;
    return tell(q, profiles, hints);
}

/* ---- forget ---------------------------------------------------------------------------------- */

static int forget(struct kernel_asking *q) {
    const struct ctl_args *a = &q->r->args;
    bool given = ctl_msg_given(q->r, CTL_A_uid), permitted = change_permitted(q->uid);
    struct kset *set = &q->s->kernels.store.set;
    uint32_t profiles = set->count, hints = set->hint_count;
    struct kset_filter f = {.uid = KSET_ANYBODY, .name = *a->name ? a->name : NULL};

    if (!f.name == !a->all)
        return refuse(q, CTL_E_BAD_REQUEST, "either a name or all=1 is needed",
                      "see 'salusctl profile list'");
    if (given && a->uid >= KSET_ANYBODY)
        return refuse(q, CTL_E_BAD_REQUEST, "uid: there is no such user", "see salusctl(1)");
    if (!permitted && given && a->uid != q->uid)
        return refuse(q, CTL_E_NOT_PERMITTED, "these profiles are another user's",
                      "root may forget them");
    if (given || !permitted) f.uid = given ? (uint32_t)a->uid : q->uid;
    f.hints = f.uid == KSET_ANYBODY;
    if (kernel_store_forget(&q->s->kernels.store, &f) == 0 && f.name) {
        char text[CTL_ARG_BYTES + 40];

        snprintf(text, sizeof(text), "kernel '%s': no profile", f.name);
        return refuse(q, CTL_E_NOT_FOUND, text, "see 'salusctl profile list'");
    }
    profiles -= set->count;
    hints -= set->hint_count;
    log_info(TOPIC, "event=forget uid=%u profiles=%u hints=%u", (unsigned)q->uid, profiles, hints);
    kernel_link_forgotten(q->s, &f);
    return tell(q, profiles, hints);
}

/* ---- the verbs ------------------------------------------------------------------------------- */

bool kernel_verbs_has(enum ctl_verb verb) {
    return verb >= CTL_V_PROFILE_LIST && verb <= CTL_V_PROFILE_FORGET;
}

int kernel_verbs_answer(struct kernel_asking *q) {
    q->out_fd = -1;
    switch (q->r->verb) {
    case CTL_V_PROFILE_IMPORT: return import(q);
    case CTL_V_PROFILE_EXPORT: return export(q);
    case CTL_V_PROFILE_FORGET: return forget(q);
    default: return show(q);
    }
}
