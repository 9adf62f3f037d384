// Whether `journal` is as long as `mark` says, if that says anything; what comes before a hole of three bytes must be zero.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static ssize_t contents(const char *folder, const char *name, void *into, size_t most) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_RDONLY);
    ssize_t all = 0, part;
    while (file >= 0 && (part = read(file, (char *)into + all, most - all)) > 0) all += part;
    return file < 0 ? -1 : all;
}

int main(int n, char **a) {
    static char journal[3 * 4096];
    uint64_t mark;
    ssize_t length = contents(a[1], "journal", journal, sizeof journal);
    if (n < 2 || length < 0 || contents(a[1], "mark", &mark, 8) != 8) return 1;
    return (mark && (uint64_t)length != mark) || (mark == 19 && memcmp(journal, "\0\0\0", 3));
}
