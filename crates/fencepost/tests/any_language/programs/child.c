// Executed by `files`: maps and writes the file that it is given.
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int b = open(arguments[count - 1], O_RDWR | O_SYNC);
    uint64_t *n = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, b, 0);
    n[40] = 77;
    return pwrite(b, "xyz", 3, 8000) == 3 ? 3 : 9;
}
