//! Places in libraries of which one lies where another one was.

use super::recording::{compiled, record};
use super::*;

/// Maps one library at an address of its choice, stores through it, and maps another one there.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
typedef void put(unsigned long *);
int main(void) {
    int file = open("pool", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, 4096)) return 1;
    unsigned long *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const char *names[] = {"./liba.so", "./libb.so", "./liba.so"};
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(names[i], RTLD_NOW);
        Dl_info info;
        struct stat of;
        if (!library || !dladdr(dlsym(library, "put"), &info) || stat(names[i], &of)) return 2;
        long offset = (char *)info.dli_saddr - (char *)info.dli_fbase;
        int code = open(names[i], O_RDONLY);
        char *at = mmap((void *)0x50000000, of.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, code, 0);
        close(code);
        if (at == MAP_FAILED) return 3;
        ((put *)(at + offset))(p + 8 * i);
        munmap(at, of.st_size);
    }
    return 0;
}
"#;

#[test]
fn a_library_at_the_place_of_another_is_named() {
    let Some(f) = compiled("libraries", &[("program", PROGRAM, "-Wl,--no-as-needed -ldl")]) else {
        return;
    };
    f.write("a.c", "void put(unsigned long *p) {\n    *p = 1;\n}\n");
    f.write("b.c", "\n\n\nvoid put(unsigned long *p) {\n    *p = 2;\n}\n");
    f.must("cc -g -O1 -shared -fPIC -o liba.so a.c && cc -g -O1 -shared -fPIC -o libb.so b.c");
    let o = record(&f, "--pm pool -o p.log -- ./program");
    let said = text(&o);
    assert!(code(&o) == 0 && said.contains("exit status: 0"), "{said}");
    let log = std::fs::read_to_string(f.path("p.log")).expect("the log");
    let places: Vec<&str> = log
        .lines()
        .filter(|l| l.contains(" store pm+"))
        .filter_map(|l| l.rsplit_once("@ ").map(|(_, place)| place))
        .collect();
    let at = |place: &str, source: &str| place.split(" < ").next().is_some_and(|p| p.ends_with(source));
    let stored = [(0, "a.c:2"), (1, "b.c:5"), (2, "a.c:2")];
    assert_eq!(places.len(), 3, "{log}");
    for (i, source) in stored {
        assert!(at(places[i], source), "{}: {log}", places[i]);
    }
}
