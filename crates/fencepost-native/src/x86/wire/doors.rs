//! How many connections a server has at a time: of clients that it does not know yet, and of all.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Connections that have not shown who they are, at most.
pub(super) const STRANGERS: usize = 16;
/// Connections at most, besides those.
pub(super) const KNOWN: usize = 64;

#[derive(Copy, Clone, Debug, Default)]
struct Open {
    strangers: usize,
    known: usize,
}

/// Counts connections.
#[derive(Clone, Default)]
pub(super) struct Doors(Arc<(Mutex<Open>, Condvar)>);

/// The place of one connection; dropped with it.
pub(super) struct Place {
    doors: Doors,
    known: bool,
}

impl Doors {
    fn change(&self, change: impl FnOnce(&mut Open)) {
        change(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.1.notify_all();
    }
    /// Waits until another connection may be accepted. Others wait with the system meanwhile, which bounds their number.
    pub(super) fn wait(&self) -> Place {
        let mut open = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        while open.strangers >= STRANGERS || open.known >= KNOWN {
            open = self.0.1.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        open.strangers += 1;
        Place {
            doors: self.clone(),
            known: false,
        }
    }
}
impl Place {
    /// It is known who it is.
    pub(super) fn is_known(&mut self) {
        self.known = true;
        self.doors
            .change(|o| (o.strangers, o.known) = (o.strangers - 1, o.known + 1));
    }
}
impl Drop for Place {
    fn drop(&mut self) {
        let known = self.known;
        self.doors.change(|o| match known {
            true => o.known -= 1,
            false => o.strangers -= 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn so_many_strangers_and_so_many_others() {
        let doors = Doors::default();
        let mut places: Vec<Place> = (0..STRANGERS).map(|_| doors.wait()).collect();
        let more = {
            let doors = doors.clone();
            std::thread::spawn(move || drop(doors.wait()))
        };
        std::thread::sleep(Duration::from_millis(50));
        assert!(!more.is_finished(), "all places of strangers are taken");
        places[0].is_known();
        more.join().unwrap();
        drop(places);
        let known = (0..KNOWN).map(|_| {
            let mut place = doors.wait();
            place.is_known();
            place
        });
        let known: Vec<Place> = known.collect();
        let more = {
            let doors = doors.clone();
            std::thread::spawn(move || drop(doors.wait()))
        };
        std::thread::sleep(Duration::from_millis(50));
        assert!(!more.is_finished(), "all places are taken");
        drop(known);
        more.join().unwrap();
    }
}
