/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables made from ctl.def.
 */
#include "proto/ctl.h"

static const struct ctl_verb_info verbs[] = {
#define CTL_VERB(name, text, record, field, sentence) {text, CTL_RECORD_##record, field, sentence},
#include "proto/ctl.def"
};

static const struct ctl_error_info errors[] = {
#define CTL_ERROR(name, code, status, sentence) {code, status, sentence},
#include "proto/ctl.def"
};

static const struct ctl_field status_fields[] = {
#define CTL_STATUS_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_status, name), sentence},
#include "proto/ctl.def"
};
static const struct ctl_field version_fields[] = {
#define CTL_VERSION_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_version, name), sentence},
#include "proto/ctl.def"
};
static const struct ctl_field job_fields[] = {
#define CTL_JOB_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_job, name), sentence},
#include "proto/ctl.def"
};
static const struct ctl_field gpu_fields[] = {
#define CTL_GPU_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_gpu, name), sentence},
#include "proto/ctl.def"
};

#define LENGTH(a) ((int)(sizeof(a) / sizeof((a)[0])))

const struct ctl_verb_info *ctl_verb_info(enum ctl_verb verb) {
    return &verbs[verb];
}

const struct ctl_error_info *ctl_error_info(enum ctl_error error) {
    return &errors[error];
}

const struct ctl_field *ctl_fields(enum ctl_record record, int *count) {
    switch (record) {
    case CTL_RECORD_STATUS: *count = LENGTH(status_fields); return status_fields;
    case CTL_RECORD_VERSION: *count = LENGTH(version_fields); return version_fields;
    case CTL_RECORD_JOB: *count = LENGTH(job_fields); return job_fields;
    case CTL_RECORD_GPU: *count = LENGTH(gpu_fields); return gpu_fields;
    }
    *count = 0;
    return NULL;
}

const char *ctl_field_text(const void *record, const struct ctl_field *f) {
    return (const char *)record + f->offset;
}

uint64_t ctl_field_number(const void *record, const struct ctl_field *f) {
    return *(const uint64_t *)((const char *)record + f->offset);
}
