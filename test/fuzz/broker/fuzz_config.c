/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a configuration file: each setting is either accepted within its bounds or reported,
 * and the accepted configuration reads back the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/broker/config/config.h"
#include "daemon/broker/config/config_file.h"
#include "daemon/broker/config/config_gpus.h"
#include "daemon/broker/config/config_rules.h"
#include "daemon/broker/config/limits.h"

static struct config first, second;

static int read_bytes(struct config *c, const void *data, size_t n) {
    static char path[32];
    static int fd = -1;
    char *text;
    size_t bytes;
    FILE *errors = open_memstream(&text, &bytes);
    int bad;

    if (fd < 0) fd = memfd_create("config", 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, n, 0) != (ssize_t)n) abort();
    config_defaults(c);
    bad = config_file_read(c, path, true, errors);
    fclose(errors);
    free(text);
    return bad;
}

static char *print(const struct config *c, size_t *n) {
    int count;
    const struct config_option *o = config_options(&count);
    char *text, value[CONFIG_TEXT_BYTES];
    FILE *out = open_memstream(&text, n);

    for (int i = 0; i < count; i++) {
        config_show(c, &o[i], value, sizeof(value));
        fprintf(out, "[%s]\n%s = %s\n", o[i].section, o[i].name, value);
    }
    config_rules_print(c, out);
    config_gpus_print(c, out);
    fclose(out);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const gid_t groups[] = {1, 100};
    struct limits l;
    char *text, *again;
    size_t bytes;

    int bad = read_bytes(&first, data, n);
    for (uid_t uid = 0; uid < 3; uid++)
        limits_resolve(&first, uid, groups, 2, &l);
    if (first.rule_count > CONFIG_RULES_MAX) abort();
    if (bad) return 0; /* values may contain characters that a line cannot */
    text = print(&first, &bytes);
    if (read_bytes(&second, text, bytes) == 0) {
        again = print(&second, &bytes);
        if (strcmp(text, again) != 0) abort();
        free(again);
    }
    free(text);
    return 0;
}
