// A file that is appended to, cut, or laid out before it is written.
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int main(int n, char **a) {
    int file = open("journal", O_RDWR | O_CREAT, 0644);
    char block[512];
    memset(block, 'x', sizeof block);
    if (strcmp(a[1], "append") && ftruncate(file, 4096)) return 9;
    for (int i = 0; i < 3; i++)
        if (write(file, block, sizeof block) != sizeof block || fsync(file)) return 8;
    if (!strcmp(a[1], "cut") && (ftruncate(file, 512) || fsync(file))) return 7;
    return 0;
}
