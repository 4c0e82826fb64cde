/* SPDX-License-Identifier: Apache-2.0
 *
 * Log records on stderr. The levels are set once, before threads start, and only read afterwards;
 * a record is built on the stack and leaves in one write(2), so records of threads and of
 * processes that share a stderr never mix within a line.
 */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOG_TOPICS 32
#define LOG_TOPIC_BYTES 24
#define LOG_LINE_BYTES 2048

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static struct {
    char name[LOG_TOPIC_BYTES];
    int level;
} topics[LOG_TOPICS];
static int topic_count;
static int default_level = LOG_WARN;
static int highest_level = LOG_WARN; /* of any topic: most calls are settled by this alone */

/* LOG_NONE - 1 when the text names no level. */
static int parse_level(const char *text, size_t bytes) {
    for (int i = 0; i < (int)(sizeof(level_names) / sizeof(level_names[0])); i++) {
        if (strlen(level_names[i]) == bytes && !strncmp(text, level_names[i], bytes)) return i;
    }
    return bytes == 4 && !strncmp(text, "none", 4) ? LOG_NONE : LOG_NONE - 1;
}

static bool set_topic(const char *name, size_t bytes, int level) {
    if (bytes == 0 || bytes >= LOG_TOPIC_BYTES) return false;
    int i = 0;
    while (i < topic_count &&
           (strlen(topics[i].name) != bytes || memcmp(topics[i].name, name, bytes)))
        i++;
    if (i == LOG_TOPICS) return false;
    if (i == topic_count) {
        memcpy(topics[i].name, name, bytes);
        topics[i].name[bytes] = '\0';
        topic_count++;
    }
    topics[i].level = level;
    return true;
}

/* "level" or "topic:level"; false when it is neither or no topic is free. */
static bool parse_item(const char *item, size_t bytes) {
    const char *colon = memchr(item, ':', bytes);
    size_t skip = colon ? (size_t)(colon - item) + 1 : 0;
    int level = parse_level(item + skip, bytes - skip);
    if (level < LOG_NONE) return false;
    if (colon) return set_topic(item, skip - 1, level);
    default_level = level;
    return true;
}

/* The first item that could not be understood, or NULL. */
static const char *parse(const char *spec) {
    const char *bad = NULL;
    while (spec && *spec) {
        size_t bytes = strcspn(spec, ",");
        if (bytes > 0 && !parse_item(spec, bytes) && !bad) bad = spec;
        spec += bytes + (spec[bytes] == ',');
    }
    return bad;
}

void log_init(const char *fallback) {
    topic_count = 0;
    default_level = LOG_WARN;
    parse(fallback);
    const char *bad = parse(getenv("SALUS_LOG"));
    highest_level = default_level;
    for (int i = 0; i < topic_count; i++) {
        if (topics[i].level > highest_level) highest_level = topics[i].level;
    }
    if (bad) log_warn("log", "ignored=SALUS_LOG item=\"%.*s\"", (int)strcspn(bad, ","), bad);
}

int log_on(const char *topic, enum log_level level) {
    if ((int)level > highest_level || level == LOG_NONE) return 0;
    for (int i = 0; i < topic_count; i++) {
        if (!strcmp(topics[i].name, topic)) return (int)level <= topics[i].level;
    }
    return (int)level <= default_level;
}

static int put_prefix(char *line, size_t cap, const char *topic, enum log_level level) {
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(line, cap, "%Y-%m-%dT%H:%M:%S", &utc);
    n += (size_t)snprintf(line + n, cap - n, ".%06ldZ %s %.*s ", now.tv_nsec / 1000,
                          level_names[level], LOG_TOPIC_BYTES, topic);
    return (int)n;
}

void log_write(const char *topic, enum log_level level, const char *fmt, ...) {
    if (!log_on(topic, level)) return;
    int saved = errno;
    char line[LOG_LINE_BYTES];
    size_t start = (size_t)put_prefix(line, sizeof(line), topic, level);
    va_list args;
    va_start(args, fmt);
    errno = saved; /* for %m */
    int wanted = vsnprintf(line + start, sizeof(line) - start, fmt, args);
    va_end(args);
    size_t n = start + (wanted > 0 ? (size_t)wanted : 0);
    if (n > sizeof(line) - 1) {
        n = sizeof(line) - 1;
        memcpy(line + n - 3, "...", 3);
    }
    /* Names of jobs and kernels come from clients: none of them may forge a second record. */
    for (size_t i = start; i < n; i++) {
        if ((unsigned char)line[i] < ' ' || line[i] == 127) line[i] = '?';
    }
    line[n++] = '\n'; /* takes the place of the terminator */
    while (write(STDERR_FILENO, line, n) < 0 && errno == EINTR) {
    }
    errno = saved;
}
