//! How many instructions a call executes, counted one by one by the processor's trap flag.
#![allow(unsafe_code, reason = "a signal handler and the flags register")]

use std::mem::zeroed;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

static STEPS: AtomicU64 = AtomicU64::new(0);
/// A handler belongs to the process: one count at a time.
static ONE: Mutex<()> = Mutex::new(());

extern "C" fn step(_signal: libc::c_int) {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Instructions that `call` executes on this thread, setting and clearing the flag (some ten) not counted. `None` where no trap arrives: under emulators that
/// leave the flag out, and where the process may not have a handler.
pub(super) fn instructions(mut call: impl FnMut()) -> Option<u64> {
    let _one = ONE.lock().ok()?;
    // SAFETY: all zero is a valid `sigaction`: no flags, an empty mask, the default handler.
    let (mut ours, mut before): (libc::sigaction, libc::sigaction) = unsafe { (zeroed(), zeroed()) };
    ours.sa_sigaction = step as extern "C" fn(libc::c_int) as usize;
    // SAFETY: both are valid; the handler only adds to an atomic, which a handler may.
    if unsafe { libc::sigaction(libc::SIGTRAP, &raw const ours, &raw mut before) } != 0 {
        return None;
    }
    let nothing = steps(&mut || {});
    let counted = steps(&mut call);
    // SAFETY: what `sigaction` wrote above.
    unsafe { libc::sigaction(libc::SIGTRAP, &raw const before, std::ptr::null_mut()) };
    (nothing > 0 && counted > nothing).then(|| counted - nothing)
}

/// Traps while `call` runs.
#[inline(never)]
fn steps(call: &mut dyn FnMut()) -> u64 {
    let before = STEPS.load(Ordering::Relaxed);
    // SAFETY: every instruction of this thread ends in a trap, which the handler takes, until the flag is cleared. The stack is left as it was.
    unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    call();
    // SAFETY: as above.
    unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], -257", "popfq") };
    STEPS.load(Ordering::Relaxed) - before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_counted_one_by_one() {
        let additions = |n: u64| {
            instructions(|| {
                let mut left = n;
                // SAFETY: registers only.
                unsafe { std::arch::asm!("2:", "sub {n}, 1", "jnz 2b", n = inout(reg) left) };
                assert_eq!(left, 0);
            })
        };
        let (Some(few), Some(many)) = (additions(100), additions(300)) else {
            return println!("skipped: no trap arrives");
        };
        assert_eq!(many - few, 400, "a subtraction and a jump each");
    }
}
