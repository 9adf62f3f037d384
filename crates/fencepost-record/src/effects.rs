//! What a Linux system call may do to a persistent file of the program that makes it, or to memory that maps one.

use syscalls::Sysno;

/// A system call, as far as a recorder of persistent files must know it. `fd` stands for the number of the argument with the
/// file descriptor.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Neither to a file's content nor to memory of the program.
    Nothing,
    /// It may store behind any of its arguments.
    Stores,
    /// It stores what it returns, in bytes, behind its second argument.
    Fills,
    /// It stores what it returns, in bytes, to the pieces of memory of an array: second argument, as many as the third says.
    FillsPieces,
    /// It writes to its first argument's file, at the descriptor's position or that of the fourth argument.
    Writes {
        /// At the position in the fourth argument.
        at: bool,
        /// From an array of pieces of memory.
        pieces: bool,
    },
    /// It writes to a file in ways that are not followed.
    Moves {
        /// The argument with the descriptor that is written to.
        fd: usize,
    },
    /// It changes what a file holds, or how long it is: `ftruncate`.
    Truncates,
    /// `truncate`, by path.
    TruncatesPath,
    /// `fallocate`.
    Allocates,
    /// `mmap`.
    Maps,
    /// `munmap`.
    Unmaps,
    /// `mremap`.
    Remaps,
    /// `shmat`: another mapping may take a place.
    Attaches,
    /// `msync`.
    SyncsMemory,
    /// `fsync`, `fdatasync`.
    SyncsFile,
    /// `sync`, `syncfs`.
    SyncsAll,
    /// It opens a file.
    Opens,
    /// It renames, replaces or removes files.
    Names,
    /// `clone`, `fork`, `vfork`, `clone3`.
    Starts,
    /// `execve`, `execveat`.
    Executes,
    /// The thread ends.
    Exits,
    /// The process ends.
    Ends,
    /// It waits for a process, which it returns; and stores as `Stores`.
    Awaits,
    /// `ioctl`.
    Controls,
    /// `madvise`.
    Advises,
    /// It hands pieces of memory on, which others may store to.
    Lends,
    /// It reads and writes files or memory of this or other processes, with no more to see.
    Foreign,
    /// Nothing is known about it.
    Unknown,
}

/// The name of a system call.
pub fn call_name(number: i64) -> String {
    match sysno(number) {
        Some(call) => call.name().to_owned(),
        None => format!("system call {number}"),
    }
}
fn sysno(number: i64) -> Option<Sysno> {
    usize::try_from(number).ok().and_then(Sysno::new)
}

/// What the system call with this number may do.
pub fn effect(number: i64) -> Effect {
    use Sysno as S;
    let Some(call) = sysno(number) else {
        return Effect::Unknown;
    };
    match call {
        S::mmap => Effect::Maps,
        S::munmap => Effect::Unmaps,
        S::mremap => Effect::Remaps,
        S::shmat => Effect::Attaches,
        S::msync => Effect::SyncsMemory,
        S::fsync | S::fdatasync => Effect::SyncsFile,
        S::sync | S::syncfs => Effect::SyncsAll,
        S::open | S::openat | S::openat2 | S::creat => Effect::Opens,
        S::rename | S::renameat | S::renameat2 | S::unlink | S::unlinkat => Effect::Names,
        S::clone | S::fork | S::vfork | S::clone3 => Effect::Starts,
        S::execve | S::execveat => Effect::Executes,
        S::exit => Effect::Exits,
        S::exit_group => Effect::Ends,
        S::wait4 => Effect::Awaits,
        S::read | S::recvfrom => Effect::Fills,
        S::pread64 => Effect::Fills,
        S::readv | S::preadv | S::preadv2 => Effect::FillsPieces,
        S::write => writes(false, false),
        S::pwrite64 => writes(true, false),
        S::writev => writes(false, true),
        S::pwritev | S::pwritev2 => writes(true, true),
        S::sendfile => Effect::Moves { fd: 0 },
        S::splice | S::copy_file_range => Effect::Moves { fd: 2 },
        S::tee => Effect::Moves { fd: 1 },
        S::vmsplice => Effect::Lends,
        S::ftruncate => Effect::Truncates,
        S::truncate => Effect::TruncatesPath,
        S::fallocate => Effect::Allocates,
        S::ioctl => Effect::Controls,
        S::madvise => Effect::Advises,
        _ if harmless(call) => Effect::Nothing,
        _ if stores(call) => Effect::Stores,
        _ if foreign(call) => Effect::Foreign,
        _ => Effect::Unknown,
    }
}
fn writes(at: bool, pieces: bool) -> Effect {
    Effect::Writes { at, pieces }
}

/// It stores to no memory of the program, and changes no file's content.
#[rustfmt::skip]
fn harmless(call: Sysno) -> bool {
    use Sysno as S;
    matches!(
        call,
        S::close | S::close_range | S::lseek | S::dup | S::dup2 | S::dup3 | S::flock | S::access | S::faccessat
            | S::faccessat2 | S::chdir | S::fchdir | S::chmod | S::fchmod | S::fchmodat | S::chown | S::fchown | S::lchown
            | S::fchownat | S::mkdir | S::mkdirat | S::rmdir | S::link | S::linkat | S::symlink | S::symlinkat | S::mknod
            | S::mknodat | S::utime | S::utimes | S::utimensat | S::futimesat | S::umask | S::fadvise64 | S::readahead
            | S::sync_file_range | S::setxattr | S::lsetxattr | S::fsetxattr | S::removexattr | S::lremovexattr
            | S::fremovexattr | S::inotify_init | S::inotify_init1 | S::inotify_add_watch | S::inotify_rm_watch
            | S::brk | S::mprotect | S::mlock | S::mlock2 | S::munlock | S::mlockall | S::munlockall
            | S::membarrier | S::mbind | S::set_mempolicy | S::pkey_alloc | S::pkey_free | S::pkey_mprotect
            | S::memfd_create | S::shmget | S::shmdt | S::semget | S::semop | S::semtimedop
            | S::msgget | S::msgsnd | S::sched_yield | S::sched_setaffinity | S::sched_setparam | S::sched_setscheduler
            | S::sched_getscheduler | S::sched_get_priority_max | S::sched_get_priority_min | S::sched_setattr
            | S::getpriority | S::setpriority | S::getpid | S::gettid | S::getppid | S::getpgrp | S::getpgid | S::setpgid
            | S::getsid | S::setsid | S::getuid | S::geteuid | S::getgid | S::getegid | S::setuid | S::setgid | S::setreuid
            | S::setregid | S::setresuid | S::setresgid | S::setfsuid | S::setfsgid | S::setgroups | S::alarm | S::pause
            | S::kill | S::tkill | S::tgkill | S::pidfd_open | S::pidfd_send_signal | S::rt_sigqueueinfo
            | S::rt_sigsuspend | S::rt_sigreturn | S::setrlimit | S::socket | S::connect | S::bind
            | S::listen | S::shutdown | S::setsockopt | S::sendto | S::sendmsg | S::sendmmsg | S::epoll_create
            | S::epoll_create1 | S::epoll_ctl | S::eventfd | S::eventfd2 | S::signalfd | S::signalfd4 | S::timerfd_create
            | S::clock_settime | S::settimeofday | S::set_robust_list | S::restart_syscall | S::personality
            | S::capset | S::chroot | S::mount | S::umount2 | S::sethostname | S::setdomainname | S::vhangup | S::nanosleep
            | S::timer_delete | S::mq_unlink | S::mq_timedsend | S::rseq | S::seccomp | S::unshare | S::setns | S::futex
            | S::set_tid_address | S::iopl | S::ioperm
    )
}

/// It may store behind a pointer, and touches no file's content.
#[rustfmt::skip]
fn stores(call: Sysno) -> bool {
    use Sysno as S;
    matches!(
        call,
        S::stat | S::fstat | S::lstat | S::newfstatat | S::statx | S::statfs | S::fstatfs | S::readlink | S::readlinkat
            | S::getcwd | S::getdents | S::getdents64 | S::getxattr | S::lgetxattr | S::fgetxattr | S::listxattr
            | S::llistxattr | S::flistxattr | S::poll | S::ppoll | S::select | S::pselect6 | S::epoll_wait | S::epoll_pwait
            | S::epoll_pwait2 | S::pipe | S::pipe2 | S::socketpair | S::accept | S::accept4 | S::getsockname
            | S::getpeername | S::getsockopt | S::recvmsg | S::recvmmsg | S::uname | S::sysinfo | S::times | S::time
            | S::gettimeofday | S::clock_gettime | S::clock_getres | S::clock_nanosleep | S::clock_adjtime | S::adjtimex
            | S::getrlimit | S::prlimit64 | S::getrusage | S::getitimer | S::setitimer | S::timer_create | S::timer_settime
            | S::timer_gettime | S::timer_getoverrun | S::timerfd_settime | S::timerfd_gettime | S::getgroups
            | S::getresuid | S::getresgid | S::getcpu | S::sched_getaffinity | S::sched_getparam | S::sched_getattr
            | S::sched_rr_get_interval | S::rt_sigaction | S::rt_sigprocmask | S::rt_sigpending | S::rt_sigtimedwait
            | S::sigaltstack | S::waitid | S::capget | S::get_robust_list | S::get_mempolicy | S::msgrcv
            | S::mq_open | S::mq_timedreceive | S::mq_getsetattr | S::mq_notify | S::name_to_handle_at | S::syslog | S::ustat
            | S::getrandom | S::sysfs | S::move_pages | S::migrate_pages | S::mincore | S::fcntl | S::prctl | S::arch_prctl
            | S::shmctl | S::semctl | S::msgctl
    )
}

/// It reads or writes memory or files where nothing can be seen of it.
#[rustfmt::skip]
fn foreign(call: Sysno) -> bool {
    use Sysno as S;
    matches!(
        call,
        S::process_vm_readv | S::process_vm_writev | S::ptrace | S::io_uring_setup | S::io_uring_enter
            | S::io_uring_register | S::io_setup | S::io_submit | S::io_getevents | S::io_pgetevents | S::io_destroy
            | S::io_cancel | S::userfaultfd | S::remap_file_pages | S::process_madvise | S::bpf | S::perf_event_open
            | S::swapon | S::swapoff | S::open_by_handle_at
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(call: Sysno) -> Effect {
        effect(i64::from(call.id()))
    }
    /// No call that moves bytes unseen may count as one that does nothing to a file.
    #[test]
    fn what_moves_bytes_is_never_harmless() {
        use Sysno as S;
        for call in [
            S::sendfile,
            S::splice,
            S::tee,
            S::vmsplice,
            S::copy_file_range,
            S::process_vm_writev,
            S::ptrace,
            S::io_uring_enter,
            S::io_submit,
            S::ioctl,
            S::madvise,
            S::remap_file_pages,
            S::recvmsg,
            S::preadv2,
        ] {
            assert!(!matches!(of(call), Effect::Nothing | Effect::Unknown), "{call:?}");
        }
        for number in [-1, 10_000, i64::MAX] {
            assert_eq!(effect(number), Effect::Unknown);
        }
    }
    #[test]
    fn every_call_is_of_one_kind() {
        for call in Sysno::iter() {
            let kinds = [harmless(call), stores(call), foreign(call)]
                .iter()
                .filter(|k| **k)
                .count();
            assert!(kinds <= 1, "{call:?}");
        }
    }
    #[test]
    fn calls_have_their_names() {
        assert_eq!(
            (call_name(9).as_str(), call_name(-5).as_str()),
            ("mmap", "system call -5")
        );
    }
}
