//! Running recovery code that may panic or be cut short: no noise, and panics become violations.

use super::stop::Stop;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// How a guarded run was cut short.
#[derive(Debug)]
pub(super) enum CutShort {
    /// By the explorer.
    Stopped(Stop),
    /// By a panic of the recovery code: message and place.
    Panicked(String),
}

/// Installs, once per process, a panic hook that is silent on threads that are inside [`guarded`] and hands every
/// other panic to the hook that was there before.
fn quiet() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if GUARDED.get() {
                let place = info
                    .location()
                    .map(|l| format!(" at {}:{}", l.file(), l.line()))
                    .unwrap_or_default();
                LAST.set(Some(format!("{}{place}", message(info.payload()))));
            } else {
                before(info);
            }
        }));
    });
}
fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)")
}

/// Runs `f`; a [`Stop`] and a panic come back as values.
pub(super) fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, CutShort> {
    let (mut f, mut out) = (Some(f), None);
    caught(&mut || out = f.take().map(|f| f()))?;
    // What was not cut short has an answer.
    Ok(out.expect("an answer"))
}
/// The same for what has no answer: compiled once, not for every program.
fn caught(f: &mut dyn FnMut()) -> Result<(), CutShort> {
    quiet();
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(outer);
    result.map_err(|payload| match payload.downcast_ref::<Stop>() {
        Some(stop) => CutShort::Stopped(*stop),
        None => CutShort::Panicked(LAST.take().unwrap_or_else(|| message(&*payload).to_owned())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn panics_and_stops_come_back_as_values() {
        assert!(matches!(guarded(|| 7), Ok(7)));
        assert!(matches!(
            guarded(|| Stop::Merged.unwind()),
            Err::<(), _>(CutShort::Stopped(Stop::Merged))
        ));
        match guarded(|| panic!("index {}", 3)) {
            Err::<(), _>(CutShort::Panicked(text)) => {
                assert!(text.starts_with("index 3 at ") && text.contains("guard.rs:"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
}
