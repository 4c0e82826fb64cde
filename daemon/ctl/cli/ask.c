/* SPDX-License-Identifier: Apache-2.0
 *
 * A verb's words are in the order of its arguments.
 */
#include "daemon/ctl/cli/ask.h"

#include <string.h>

#include "daemon/ctl/cli/keys.h"

/* The value of the option of this argument: "--dry-run" for dry_run. */
static const char *given_option(const struct cli *c, const char *arg) {
    char option[40];

    snprintf(option, sizeof(option), "--%s", arg);
    for (char *p = option; *p; p++)
        if (*p == '_') *p = '-';
    return cli_option(c, option);
}

/* Takes an option such as "--gpu N", whose value is a number. */
static int take_chosen(struct cli *c, struct ctl_request *r, enum ctl_arg arg) {
    const char *name = ctl_arg_info(arg)->name, *text = given_option(c, name);
    uint64_t value;
    int status = text ? cli_take_id(c, name, text, &value) : CLI_OK;

    if (text && status == CLI_OK) ctl_msg_put(r, arg, (int64_t)value);
    return status;
}

int ask_gpu(struct cli *c, struct ctl_request *r) {
    return take_chosen(c, r, CTL_A_gpu);
}

static int take_all_chosen(struct cli *c, struct ctl_request *r) {
    int status = CLI_OK;

    for (enum ctl_arg arg = 0; arg < CTL_A_COUNT && status == CLI_OK; arg++)
        if (ctl_arg_info(arg)->style == CTL_STYLE_CHOSEN && ctl_verb_takes(r->verb, arg))
            status = take_chosen(c, r, arg);
    return status;
}

static void take_options(const struct cli *c, struct ctl_request *r) {
    for (enum ctl_arg arg = 0; arg < CTL_A_COUNT; arg++) {
        const struct ctl_arg_info *a = ctl_arg_info(arg);
        bool option = a->style == CTL_STYLE_OPTION || a->style == CTL_STYLE_FLAG;
        const char *value =
            option && ctl_verb_takes(r->verb, arg) ? given_option(c, a->name) : NULL;

        if (!value) continue;
        if (a->style == CTL_STYLE_FLAG)
            ctl_msg_put(r, arg, 1);
        else
            ctl_msg_put_text(r, arg, value);
    }
}

/* Prints the noun of a verb: "job" of "job.show". */
static void print_noun(enum ctl_verb verb, char *out, size_t cap) {
    const char *text = ctl_verb_info(verb)->text;

    snprintf(out, cap, "%.*s", (int)strcspn(text, "."), text);
}

/* Takes the object that the first word names, if the verb has one: sets *taken to 1. */
static int take_object(struct cli *c, struct ctl_request *r, const char *word, int *taken) {
    bool number = ctl_verb_takes(r->verb, CTL_A_id), user = ctl_verb_takes(r->verb, CTL_A_uid);
    char noun[16];
    uint64_t value;
    int status;

    *taken = number || user;
    if (!*taken) return CLI_OK;
    print_noun(r->verb, noun, sizeof(noun));
    status = number ? cli_take_id(c, noun, word, &value) : cli_take_user(c, noun, word, &value);
    if (status == CLI_OK) ctl_msg_put(r, number ? CTL_A_id : CTL_A_uid, (int64_t)value);
    return status;
}

int ask_build(struct cli *c, enum ctl_verb verb, int argc, char **argv, struct ctl_request *r) {
    int taken = 0, status;

    *r = (struct ctl_request){.verb = verb};
    take_options(c, r);
    status = take_all_chosen(c, r);
    if (argc > 0 && status == CLI_OK) status = take_object(c, r, argv[0], &taken);
    for (int i = taken; i < argc && status == CLI_OK; i++)
        status = keys_take(c, argv[i], r);
    return status;
}
