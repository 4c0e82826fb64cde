/* SPDX-License-Identifier: Apache-2.0
 *
 * salusd: reads the command line, then serves.
 */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "common/standard_output.h"
#include "common/text/args.h"
#include "daemon/broker/config/config.h"
#include "daemon/broker/config/config_gpus.h"
#include "daemon/broker/config/config_load.h"
#include "daemon/broker/config/config_rules.h"
#include "daemon/broker/config_check.h"
#include "daemon/broker/listen.h"
#include "daemon/broker/server.h"
#include "proto/version.h"
#include "proto/wire/wire.h"

#define EXIT_USAGE 2

struct arguments {
    struct config_sources sources;
    bool check, show, temporary;
};

static void print_help(FILE *out) {
    int count;
    const struct config_option *o = config_options(&count);

    fputs("usage: salusd [--config FILE] [--check-config] [--show-config] [--OPTION VALUE]...\n"
          "\n"
          "Shares a GPU among programs. Runs in the foreground; see salusd(8).\n"
          "\n"
          "  --config FILE          read only this file, instead of /usr/lib/salus/salus.conf,\n"
          "                         /etc/salus/salus.conf and /etc/salus/conf.d/*.conf\n"
          "  --check-config         list every error of the configuration; exit 2 if any\n"
          "  --show-config          print the configuration in effect\n"
          "  --temporary            remove run_dir when the daemon exits\n"
          "  --foreground           accepted without effect: the daemon never forks\n"
          "  --help, --version\n"
          "\n"
          "Options, also as 'name = value' in files and as SALUS_<NAME> in the environment:\n",
          out);
    for (int i = 0; i < count; i++) {
        char name[64];
        int n = snprintf(name, sizeof(name), "--%s", o[i].name);

        for (int k = 2; k < n; k++)
            if (name[k] == '_') name[k] = '-';
        fprintf(out, "  %-22s %s (default %s%s)\n", name, o[i].help,
                *o[i].text ? o[i].text : "empty", o[i].reloadable ? "; SIGHUP reloads" : "");
    }
}

static void print_config(const struct config *c) {
    int count;
    const struct config_option *o = config_options(&count);
    const char *section = "";

    for (int i = 0; i < count; i++) {
        char value[CONFIG_TEXT_BYTES];

        if (strcmp(section, o[i].section) != 0) printf("%s[%s]\n", i ? "\n" : "", o[i].section);
        section = o[i].section;
        config_show(c, &o[i], value, sizeof(value));
        printf("%s = %s\n", o[i].name, value);
    }
    config_rules_print(c, stdout);
    config_gpus_print(c, stdout);
}

static int usage_error(const char *what, const char *arg) {
    fprintf(stderr, "salusd: %s%s; see 'salusd --help'\n", what, arg);
    return EXIT_USAGE;
}

/* Takes an option of the configuration: --some-name is some_name. Returns -1 to continue, else the
 * exit status. */
static int take_option(struct config_sources *s, struct args *a) {
    char *name = a->name + 2;

    if (strncmp(a->name, "--", 2) != 0) return usage_error("unexpected argument ", a->name);
    for (char *p = name; *p; p++)
        if (*p == '-') *p = '_';
    bool file = strcmp(name, "config") == 0;
    if (!args_value(a) || (!file && s->flags == CONFIG_FLAGS_MAX))
        return usage_error("missing value of --", name);
    if (file) {
        s->file = a->value;
        return -1;
    }
    s->flag_names[s->flags] = name;
    s->flag_values[s->flags++] = a->value;
    return -1;
}

/* Returns -1 to continue, else the exit status. */
static int parse_arguments(struct arguments *o, char **argv) {
    struct args a = {.rest = argv + 1};

    while (args_next(&a) != ARGS_END) {
        if (args_is(&a, "--help")) {
            print_help(stdout);
            return 0;
        }
        if (args_is(&a, "--version")) {
            printf("salusd %s (client protocol %d.%d)\n", VERSION_TEXT, WIRE_MAJOR, WIRE_MINOR);
            return 0;
        }
        if (args_is(&a, "--check-config")) {
            o->check = true;
        } else if (args_is(&a, "--show-config")) {
            o->show = true;
        } else if (args_is(&a, "--temporary")) {
            o->temporary = true;
        } else if (!args_is(&a, "--foreground")) {
            int status = take_option(&o->sources, &a);
            if (status >= 0) return status;
        }
    }
    return -1;
}

/* Returns the exit status of a run that only printed something. */
static int end_output(int status) {
    return standard_output_flush(stdout, stderr, "salusd") ? status : 1;
}

int main(int argc, char **argv) {
    static struct arguments a;
    static struct config config;
    static struct hostmem memory;
    char why[512];
    struct server *server;
    int status = parse_arguments(&a, argv), faults, err;

    if (status >= 0) return end_output(status);
    log_init("info");
    faults = config_load(&config, &a.sources, stderr);
    if (!a.show) {
        hostmem_read(&memory, "");
        faults += config_check_machine(&config, &memory, stderr);
    }
    if (faults > 0) {
        fprintf(stderr, "salusd: %d error%s in the configuration\n", faults,
                faults == 1 ? "" : "s");
        return EXIT_USAGE;
    }
    if (a.show) print_config(&config);
    if (a.check || a.show) return end_output(0);
    signal(SIGPIPE, SIG_IGN); /* the reader of our log may exit */
    log_background();
    fdutil_raise_limits();
    err = server_create(&server, &config, &a.sources, NULL, why, sizeof(why));
    if (err < 0) {
        log_finish();
        fprintf(stderr, "salusd: %s\n", why);
        return 1;
    }
    err = server_run(server);
    snprintf(why, sizeof(why), "%s", server_trouble(server));
    server_destroy(server);
    log_finish();
    if (err < 0) fprintf(stderr, "salusd: no GPU worker is ready: %s\n", why);
    if (a.temporary) listen_remove(config.run_dir);
    return err < 0 ? 1 : 0;
}
