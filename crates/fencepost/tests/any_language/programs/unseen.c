// Reaches its persistent file by ways that are not followed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static void thrice(int from, int to) {
    for (int i = 0; i < 3; i++) {
        off_t start = 0;
        sendfile(to, from, &start, 8);
    }
}

int main(int count, char **arguments) {
    const char *how = arguments[count - 1];
    int file = open("pool", O_RDWR | O_CREAT, 0644), other = open("other", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, 8192) || pwrite(file, "x", 1, 0) != 1 || write(other, "abcdefgh", 8) != 8) return 9;
    loff_t zero = 0, at = 64;
    if (!strcmp(how, "sendfile")) thrice(other, file);
    if (!strcmp(how, "copy_file_range")) copy_file_range(other, &zero, file, &at, 8, 0);
    if (!strcmp(how, "unlink")) unlink("pool");
    if (!strcmp(how, "rename")) rename("other", "pool");
    if (!strcmp(how, "openat")) open("pool", O_RDWR | O_TRUNC);
    if (!strcmp(how, "splice")) {
        int ends[2];
        if (pipe(ends) || write(ends[1], "abcd", 4) != 4) return 9;
        splice(ends[0], 0, file, &at, 4, 0);
    }
    if (!strcmp(how, "newfstatat")) fstat(file, mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    return 0;
}
