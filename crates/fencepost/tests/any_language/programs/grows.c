// The length of `journal`, and after it the mark in `mark` that says what it is. How it comes about is the first argument; with
// `right` as the second it is durable before the mark, with `wrong` it need not be.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK = 16, PAGE = 4096 };
static char block[BLOCK];

static int append(int file, char what) {
    memset(block, what, BLOCK);
    return pwrite(file, block, BLOCK, lseek(file, 0, SEEK_END)) == BLOCK ? 0 : 9;
}

int main(int n, char **a) {
    int file = open("journal", O_RDWR | O_CREAT, 0644), mark = open("mark", O_RDWR | O_CREAT, 0644);
    int right = !strcmp(a[2], "right"), error = 0;
    const char *how = a[1];
    uint64_t length = PAGE;
    if (ftruncate(mark, PAGE)) return 9;
    if (!strcmp(how, "laid-out")) {
        error = ftruncate(file, PAGE);
        right = 0;
    } else {
        error = append(file, 'x') || fsync(file);
        length = 2 * BLOCK;
    }
    if (!strcmp(how, "append")) error |= append(file, 'x');
    if (!strcmp(how, "fdatasync")) error |= append(file, 'x') || (right && fdatasync(file));
    if (!strcmp(how, "ftruncate")) error |= ftruncate(file, length);
    if (!strcmp(how, "fallocate")) error |= fallocate(file, 0, 0, length);
    if (!strcmp(how, "cut")) error |= ftruncate(file, length = 100);
    if (!strcmp(how, "truncate")) error |= truncate("journal", length = 100);
    if (!strcmp(how, "again")) {
        // What was cut off must not come back.
        error |= ftruncate(file, 0) || fsync(file) || ftruncate(file, 3) || append(file, 'x');
        length = BLOCK + 3;
    }
    if (!strcmp(how, "mapped")) {
        error |= ftruncate(file, length = PAGE);
        right = right && mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED;
    }
    if (error || (right && fsync(file))) return 9;
    return pwrite(mark, &length, 8, 0) == 8 && !fsync(mark) ? 0 : 9;
}
