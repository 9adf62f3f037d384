// If `mark` says so, the first word of `pool` is there, and with `second` the seven in its second page.
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
    static uint64_t pool[1024];
    uint64_t mark;
    if (n < 3 || contents(a[1], "pool", pool, sizeof pool) < 0 || contents(a[1], "mark", &mark, 8) != 8) return 1;
    return mark && (!pool[0] || (!strcmp(a[2], "second") && pool[512] != 7));
}
