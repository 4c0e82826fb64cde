/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables generated from ctl.def by the preprocessor.
 */
#include "proto/control/ctl.h"

#include <string.h>

#include "daemon/policy/parameters.h"

static const struct ctl_verb_info verbs[] = {
#define CTL_VERB(name, text, usage, record, args, sentence) \
    {text, usage, CTL_RECORD_##record, args, sentence},
#include "proto/control/ctl.def"
};

static const char *const aliases[CTL_V_COUNT] = {
#define CTL_ALIAS(name, text) [CTL_V_##name] = text,
#include "proto/control/ctl.def"
};

static const struct ctl_arg_info args[] = {
#define CTL_ARG(name, kind, style, sentence) \
    {#name, CTL_KIND_##kind, CTL_STYLE_##style, offsetof(struct ctl_args, name)},
#include "proto/control/ctl.def"
};

static const struct ctl_error_info errors[] = {
#define CTL_ERROR(name, code, status, sentence) {code, status, sentence},
#include "proto/control/ctl.def"
};

static const struct ctl_field status_fields[] = {
#define CTL_STATUS_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_status, name), sentence},
#include "proto/control/ctl.def"
};
static const struct ctl_field version_fields[] = {
#define CTL_VERSION_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_version, name), sentence},
#include "proto/control/ctl.def"
};
static const struct ctl_field job_fields[] = {
#define CTL_JOB_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_job, name), sentence},
#include "proto/control/ctl.def"
};
static const struct ctl_field gpu_fields[] = {
#define CTL_GPU_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_gpu, name), sentence},
#include "proto/control/ctl.def"
};
static const struct ctl_field lane_fields[] = {
#define CTL_LANE_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_lane, name), sentence},
#include "proto/control/ctl.def"
};
static const struct ctl_field policy_fields[] = {
#define CTL_POLICY_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_policy, name), sentence},
#include "proto/control/ctl.def"
};
static const struct ctl_field policy_config_fields[] = {
#define CTL_POLICY_CONFIG_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_policy_config, name), sentence},
#include "proto/control/ctl.def"
};
static const struct ctl_field ended_fields[] = {
#define CTL_ENDED_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_ended, name), sentence},
#include "proto/control/ctl.def"
};
static const struct ctl_field profile_fields[] = {
#define CTL_PROFILE_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_profile, name), sentence},
#include "proto/control/ctl.def"
};
static const struct ctl_field hint_fields[] = {
#define CTL_HINT_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_hint, name), sentence},
#include "proto/control/ctl.def"
};
static const struct ctl_field known_fields[] = {
#define CTL_KNOWN_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_known, name), sentence},
#include "proto/control/ctl.def"
};

static const struct ctl_field user_fields[] = {
#define CTL_USER_FIELD(name, kind, sentence) \
    {#name, CTL_KIND_##kind, offsetof(struct ctl_user, name), sentence},
#include "proto/control/ctl.def"
};

#define LENGTH(a) ((int)(sizeof(a) / sizeof((a)[0])))

const struct ctl_verb_info *ctl_verb_info(enum ctl_verb verb) {
    return &verbs[verb];
}

const char *ctl_verb_alias(enum ctl_verb verb) {
    return verb < CTL_V_COUNT ? aliases[verb] : NULL;
}

const struct ctl_arg_info *ctl_arg_info(enum ctl_arg arg) {
    return &args[arg];
}

bool ctl_verb_takes(enum ctl_verb verb, enum ctl_arg arg) {
    const char *name = parameters_find_field(args[arg].name) ? "parameters" : args[arg].name;
    size_t n = strlen(name);

    for (const char *p = verbs[verb].args; *p; p += strcspn(p, " "), p += strspn(p, " "))
        if (strcspn(p, " ") == n && memcmp(p, name, n) == 0) return true;
    return false;
}

const struct ctl_error_info *ctl_error_info(enum ctl_error error) {
    return &errors[error];
}

const struct ctl_field *ctl_fields(enum ctl_record record, int *count) {
    switch (record) {
#define X(NAME, name) \
    case CTL_RECORD_##NAME: *count = LENGTH(name##_fields); return name##_fields;
        CTL_RECORDS(X)
#undef X
    case CTL_RECORD_COUNT: break;
    }
    *count = 0;
    return NULL;
}

size_t ctl_record_bytes(enum ctl_record record) {
    static const size_t bytes[] = {
#define X(NAME, name) sizeof(struct ctl_##name),
        CTL_RECORDS(X)
#undef X
    };

    return bytes[record];
}

const char *ctl_field_text(const void *record, const struct ctl_field *f) {
    return (const char *)record + f->offset;
}

uint64_t ctl_field_number(const void *record, const struct ctl_field *f) {
    return *(const uint64_t *)((const char *)record + f->offset);
}
