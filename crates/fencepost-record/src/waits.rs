//! Where a thread may wait for others: in those system calls somebody else goes on meanwhile.

use syscalls::Sysno;

/// Whether a thread may wait in a system call.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It returns by itself, and soon.
    Never,
    /// It does not if the descriptor in its first argument is of a regular file.
    UnlessFile,
    /// As `Never`, and whoever sleeps may be woken.
    Feeds,
    /// A `futex` that waits while the word in its first argument has the value in its third.
    WhileEqual,
    /// A `futex` that wakes as many as it returns.
    Wakes,
    /// It may.
    Perhaps,
}

/// Whether a thread may wait in the system call with this number and these arguments.
#[rustfmt::skip]
pub fn waits(number: i64, arguments: &[u64; 6]) -> Waits {
    use Sysno as S;
    /// `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME`.
    const FUTEX_FLAGS: u64 = 128 | 256;
    let Some(call) = usize::try_from(number).ok().and_then(Sysno::new) else {
        return Waits::Perhaps;
    };
    match call {
        S::futex => match arguments[1] & !FUTEX_FLAGS {
            // FUTEX_WAIT, FUTEX_WAIT_BITSET
            0 | 9 => Waits::WhileEqual,
            // FUTEX_WAKE, FUTEX_WAKE_OP, FUTEX_WAKE_BITSET
            1 | 5 | 10 => Waits::Wakes,
            // FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_UNLOCK_PI
            3 | 4 | 7 => Waits::Never,
            _ => Waits::Perhaps,
        },
        // A full pipe is rare, and then those that wait take the turn.
        S::write | S::writev | S::sendto | S::sendmsg | S::sendmmsg | S::kill | S::tkill | S::tgkill | S::close | S::shutdown
            => Waits::Feeds,
        S::read | S::readv | S::pread64 | S::pwrite64 | S::preadv | S::pwritev | S::preadv2
            | S::pwritev2 | S::fsync | S::fdatasync | S::ftruncate | S::fallocate => Waits::UnlessFile,
        // F_SETLKW, F_OFD_SETLKW
        S::fcntl if matches!(arguments[1], 7 | 38) => Waits::Perhaps,
        S::fcntl | S::mmap | S::munmap | S::mremap | S::mprotect | S::brk | S::madvise | S::mincore | S::mlock | S::munlock
            | S::rt_sigprocmask | S::rt_sigaction | S::rt_sigpending | S::sigaltstack | S::set_robust_list | S::rseq
            | S::set_tid_address | S::gettid | S::getpid | S::getppid | S::getuid | S::geteuid | S::getgid | S::getegid
            | S::prlimit64 | S::getrlimit | S::setrlimit | S::getrusage | S::clock_gettime | S::clock_getres
            | S::gettimeofday | S::time | S::times | S::getcpu | S::sched_getaffinity | S::sched_setaffinity
            | S::getpriority | S::setpriority | S::fstat | S::stat | S::lstat | S::newfstatat | S::statx | S::lseek
            | S::access | S::faccessat | S::faccessat2 | S::readlink | S::readlinkat | S::getcwd | S::getrandom
            | S::arch_prctl | S::prctl | S::uname | S::sysinfo | S::membarrier | S::fadvise64 | S::unlink | S::rename
            => Waits::Never,
        _ => Waits::Perhaps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_for_another_gives_its_turn_away() {
        let of = |call: Sysno, arguments: [u64; 6]| waits(i64::from(call.id()), &arguments);
        let none = [0; 6];
        for call in [
            Sysno::poll,
            Sysno::wait4,
            Sysno::nanosleep,
            Sysno::accept,
            Sysno::flock,
            Sysno::pause,
            Sysno::openat,
        ] {
            assert_eq!(of(call, none), Waits::Perhaps, "{call:?}");
        }
        assert_eq!(of(Sysno::fcntl, [3, 7, 0, 0, 0, 0]), Waits::Perhaps);
        assert_eq!(of(Sysno::fcntl, [3, 6, 0, 0, 0, 0]), Waits::Never);
        // FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE, FUTEX_LOCK_PI
        assert_eq!(of(Sysno::futex, [0, 128, 0, 0, 0, 0]), Waits::WhileEqual);
        assert_eq!(of(Sysno::futex, [0, 129, 0, 0, 0, 0]), Waits::Wakes);
        assert_eq!(of(Sysno::futex, [0, 6, 0, 0, 0, 0]), Waits::Perhaps);
        assert_eq!(of(Sysno::write, none), Waits::Feeds);
        assert_eq!(of(Sysno::read, none), Waits::UnlessFile);
        assert_eq!(waits(-1, &none), Waits::Perhaps);
    }
}
