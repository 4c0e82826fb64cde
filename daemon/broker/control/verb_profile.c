/* SPDX-License-Identifier: Apache-2.0
 *
 * Root and the daemon's user act on all profiles and on hints. Other users act on their own
 * profiles and see no others: which kernels users run, and for how long, is private.
 */
#include "daemon/broker/control/verb_profile.h"

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
#include "daemon/broker/control/kernel_report.h"
#include "daemon/kernels/kernel_text.h"

#define TOPIC "kernel"

static const char nothing_known[] = "the device is not known yet, because no worker has started";

/* Returns the kernel profiles for the kind of GPU that the request names; NULL, with the refusal's
 * result in *err, if there is no such GPU or nothing is known of it. */
static struct kernel_store *find_store(struct control_request *q, int *err) {
    const struct gpu *g = control_request_gpu(q, err);

    if (!g || kernel_link_known(&g->kernels)) return g ? g->kernels.store : NULL;
    *err = control_request_refuse(q, CTL_E_FAILED, nothing_known, "see 'salusctl status'");
    return NULL;
}

/* Replies with the numbers of known profiles and hints, and of those moved by the request. */
static int tell(struct control_request *q, const struct kernel_set *set, uint64_t profiles,
                uint64_t hints) {
    struct ctl_known known = {0};

    snprintf(known.device, sizeof(known.device), "%s", set->device.name);
    known.sms = set->device.sms;
    known.profiles = set->count;
    known.hints = set->hint_count;
    known.moved_profiles = profiles;
    known.moved_hints = hints;
    return control_request_record(q, CTL_RECORD_KNOWN, &known);
}

/* The request concerns another user, and the requester may not see all. */
static bool foreign(const struct control_request *q) {
    return ctl_msg_given(q->request, CTL_A_uid) && q->request->args.uid != q->uid &&
           !control_request_admin(q);
}

static int refuse_foreign(struct control_request *q) {
    return control_request_refuse(q, CTL_E_NOT_PERMITTED, "these profiles belong to another user",
                                  "root and the daemon's user may see them");
}

static int show(struct control_request *q) {
    static const struct kernel_set nothing;
    int err = 0;
    const struct gpu *g = control_request_gpu(q, &err);
    const struct kernel_set *set = g && g->kernels.store ? &g->kernels.store->set : &nothing;
    struct ctl_request r = *q->request;
    char text[CTL_ARG_BYTES + 40];
    uint64_t next;

    if (!g) return err;
    if (foreign(q)) return refuse_foreign(q);
    if (!control_request_admin(q)) {
        r.given |= 1ull << CTL_A_uid;
        r.args.uid = q->uid;
    }
    if (r.verb == CTL_V_profile_show && !kernel_report_any(set, &r)) {
        snprintf(text, sizeof(text), "kernel '%s' has no profile", r.args.name);
        return control_request_refuse(q, CTL_E_NOT_FOUND, text, "see 'salusctl profile list'");
    }
    next = kernel_report_list(set, &r, q->out);
    return control_request_reply(q, next);
}

int verb_profile_list(struct control_request *q) {
    return show(q);
}

int verb_profile_show(struct control_request *q) {
    return show(q);
}

int verb_profile_hints(struct control_request *q) {
    return show(q);
}

/* ---- import ---------------------------------------------------------------------------------- */

/* Copies the text that came along, for the caller to free. A sealed memfd guarantees that reading
 * neither blocks nor ends early. */
static int read_text(int fd, char **out, size_t *bytes) {
    size_t done = 0;
    struct stat st;

    if (fd < 0 || fdutil_check_sealed(fd, 1) < 0 || fstat(fd, &st) < 0) return -EBADF;
    if (st.st_size > KERNEL_TEXT_BYTES_MAX) return -EFBIG;
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

static int refuse_text(struct control_request *q, int err, const char *why) {
    switch (err) {
    case -EBADF:
        return control_request_refuse(q, CTL_E_BAD_REQUEST,
                                      "the request lacks a sealed memfd with the profiles' text",
                                      "use 'salusctl profile import'");
    case -EFBIG:
        return control_request_refuse(
            q, CTL_E_BAD_REQUEST, "the text is longer than 'salusctl profile export' ever writes",
            "import it in parts");
    case -EINVAL: return control_request_refuse(q, CTL_E_BAD_REQUEST, why, "see salusctl(1)");
    case -EXDEV:
        return control_request_refuse(
            q, CTL_E_FAILED, why,
            "use --any-device to import only its classes and SMs, without times");
    case -EPERM:
        return control_request_refuse(
            q, CTL_E_NOT_PERMITTED, why,
            "only root and the daemon's user may import profiles of other users");
    default: return control_request_refuse(q, CTL_E_FAILED, err_text(err), "see the log of salusd");
    }
}

static int take_over(struct control_request *q, struct kernel_store *store,
                     const struct kernel_set *from, char *why) {
    bool all = control_request_admin(q);

    if (!all && from->hint_count) {
        snprintf(why, KERNEL_PROFILE_WHY_BYTES, "hints apply to the kernels of all users");
        return -EPERM;
    }
    return kernel_store_import(store, from, all ? KERNEL_SET_ANYBODY : q->uid, why);
}

/* Tells the workers of all GPUs that share the store. */
static void tell_imported(struct broker *b, const struct kernel_store *store) {
    for (uint32_t i = 0; i < b->gpus.count; i++)
        if (b->gpus.items[i].kernels.store == store)
            kernel_link_imported(&b->gpus.items[i].kernels);
}

static void tell_forgotten(struct broker *b, const struct kernel_store *store,
                           const struct kernel_set_filter *f) {
    for (uint32_t i = 0; i < b->gpus.count; i++)
        if (b->gpus.items[i].kernels.store == store)
            kernel_link_forgotten(&b->gpus.items[i].kernels, f);
}

int verb_profile_import(struct control_request *q) {
    char why[KERNEL_PROFILE_WHY_BYTES] = "", *text = NULL;
    uint64_t profiles, hints;
    struct kernel_set from;
    size_t bytes = 0;
    int err = 0;
    struct kernel_store *store = find_store(q, &err);

    if (!store) return err;
    err = read_text(q->in_fd, &text, &bytes);
    kernel_set_init(&from, store->set.seed);
    if (err == 0) {
        err = kernel_text_parse(&from, text, bytes, why);
        free(text);
    }
    if (err == 0) err = take_over(q, store, &from, why);
    profiles = from.count;
    hints = from.hint_count;
    kernel_set_finish(&from);
    log_write(TOPIC, err < 0 ? LOG_WARN : LOG_INFO,
              "event=import uid=%u profiles=%u hints=%u result=%s why=\"%s\"", (unsigned)q->uid,
              (unsigned)profiles, (unsigned)hints, err < 0 ? err_name(err) : "ok", why);
    if (err < 0) return refuse_text(q, err, why);
    tell_imported(q->broker, store);
    return tell(q, &store->set, profiles, hints);
}

/* ---- export ---------------------------------------------------------------------------------- */

/* Selects a user's profiles, without hints, which are not a user's; so the user can import them
 * again. */
static int select_user(const struct kernel_set *s, uint64_t uid, struct kernel_set *out) {
    uint32_t *order = kernel_set_order(s);
    int err = order ? 0 : -ENOMEM;

    kernel_set_init(out, s->seed);
    out->device = s->device;
    for (uint32_t i = 0; i < s->count && err == 0; i++)
        if (s->items[order[i]].key.uid == uid) err = kernel_set_learn(out, &s->items[order[i]]);
    free(order);
    return err;
}

int verb_profile_export(struct control_request *q) {
    int err = 0;
    const struct kernel_store *store = find_store(q, &err);
    const struct kernel_set *set = store ? &store->set : NULL;
    bool given = ctl_msg_given(q->request, CTL_A_uid), all = !given && control_request_admin(q);
    uint64_t uid = given ? q->request->args.uid : q->uid, profiles, hints;
    struct kernel_set own;
    int fd = 0;

    if (!store) return err;
    if (foreign(q)) return refuse_foreign(q);
    kernel_set_init(&own, set->seed);
    if (!all) fd = select_user(set, uid, &own);
    if (fd == 0) fd = kernel_wire_text(all ? set : &own);
    profiles = all ? set->count : own.count;
    hints = all ? set->hint_count : 0;
    kernel_set_finish(&own);
    if (fd < 0)
        return control_request_refuse(q, CTL_E_FAILED, err_text(fd), "see the log of salusd");
    q->out_fd = fd;
    return tell(q, set, profiles, hints);
}

/* ---- forget ---------------------------------------------------------------------------------- */

int verb_profile_forget(struct control_request *q) {
    const struct ctl_args *a = &q->request->args;
    bool given = ctl_msg_given(q->request, CTL_A_uid), permitted = control_request_admin(q);
    int err = 0;
    struct gpu *g = control_request_gpu(q, &err);
    struct kernel_store *store = g ? g->kernels.store : NULL;
    uint32_t profiles, hints;
    struct kernel_set_filter f = {.uid = KERNEL_SET_ANYBODY, .name = *a->name ? a->name : NULL};

    if (!g) return err;
    if (!f.name == !a->all)
        return control_request_refuse(q, CTL_E_BAD_REQUEST,
                                      "the request needs either a name or all=1",
                                      "see 'salusctl profile list'");
    if (given && a->uid >= KERNEL_SET_ANYBODY)
        return control_request_refuse(q, CTL_E_BAD_REQUEST, "uid is not a valid user ID",
                                      "see salusctl(1)");
    if (!permitted && given && a->uid != q->uid)
        return control_request_refuse(q, CTL_E_NOT_PERMITTED,
                                      "these profiles belong to another user",
                                      "only root and their user may delete them");
    if (given || !permitted) f.uid = given ? (uint32_t)a->uid : q->uid;
    f.hints = f.uid == KERNEL_SET_ANYBODY;
    if (!store)
        return control_request_refuse(q, CTL_E_FAILED, nothing_known, "see 'salusctl status'");
    profiles = store->set.count;
    hints = store->set.hint_count;
    if (kernel_store_forget(store, &f) == 0 && f.name) {
        char text[CTL_ARG_BYTES + 40];

        snprintf(text, sizeof(text), "kernel '%s' has no profile", f.name);
        return control_request_refuse(q, CTL_E_NOT_FOUND, text, "see 'salusctl profile list'");
    }
    profiles -= store->set.count;
    hints -= store->set.hint_count;
    log_info(TOPIC, "event=forget uid=%u profiles=%u hints=%u", (unsigned)q->uid, profiles, hints);
    tell_forgotten(q->broker, store, &f);
    return tell(q, &store->set, profiles, hints);
}
