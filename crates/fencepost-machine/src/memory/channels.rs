//! The channels of a controller, and when each has something to do: of many channels few do at a time.

use super::bits::each;
use super::schedule::ChannelScheduler;
use super::spec::MediaSpec;
use super::timed::NEVER;
use super::timing::Delays;
use fencepost_kernel::Ps;

/// All channels.
#[derive(Debug)]
pub(super) struct Channels {
    all: Vec<ChannelScheduler>,
    /// When each looks again, side by side; and when the first does.
    wakes: Vec<Ps>,
    next: Ps,
    /// Channels with requests, a bit each.
    occupied: u64,
}

impl Channels {
    /// Idle channels. A medium has at most 64. `rows_ahead`: as in the controller's parameters.
    pub(super) fn new(media: &MediaSpec, rows_ahead: bool) -> Channels {
        let all: Vec<_> = (0..media.channels)
            .map(|i| ChannelScheduler::new(media, rows_ahead, i))
            .collect();
        Channels {
            wakes: vec![NEVER; all.len()],
            all,
            next: NEVER,
            occupied: 0,
        }
    }
    /// Number of channels.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
    /// A channel.
    pub(super) fn get(&self, index: usize) -> &ChannelScheduler {
        &self.all[index]
    }
    /// Every channel.
    pub(super) fn iter(&self) -> impl Iterator<Item = &ChannelScheduler> {
        self.all.iter()
    }
    /// A channel, to act; [`Channels::acted`] has to follow.
    #[inline]
    pub(super) fn acting(&mut self, index: usize) -> &mut ChannelScheduler {
        &mut self.all[index]
    }
    /// A channel has acted: follows when it looks again, and returns that.
    #[inline]
    pub(super) fn acted(&mut self, index: usize) -> Ps {
        let channel = &self.all[index];
        let (bit, wake) = (1 << index, channel.wake);
        self.occupied = self.occupied & !bit | if channel.is_empty() { 0 } else { bit };
        let was = std::mem::replace(&mut self.wakes[index], wake);
        if wake <= self.next {
            self.next = wake;
        } else if was == self.next {
            self.next = self.wakes.iter().copied().fold(NEVER, Ps::min);
        }
        wake
    }
    /// Lets a channel act; returns what that returns, and when the channel looks again.
    #[inline]
    pub(super) fn act<R>(&mut self, index: usize, act: impl FnOnce(&mut ChannelScheduler) -> R) -> (R, Ps) {
        let returned = act(&mut self.all[index]);
        (returned, self.acted(index))
    }
    /// When the first channel looks again.
    #[inline]
    pub(super) fn next(&self) -> Ps {
        self.next
    }
    /// When the first channel but one looks again.
    #[inline]
    pub(super) fn next_without(&self, index: usize) -> Ps {
        if self.wakes.len() == 1 {
            return NEVER;
        }
        let others = self.wakes.iter().enumerate().filter(|w| w.0 != index);
        others.fold(NEVER, |next, w| next.min(*w.1))
    }
    /// The first channel from `from` on that is due.
    #[inline]
    pub(super) fn due(&self, from: usize, now: Ps) -> Option<usize> {
        if self.next > now {
            return None;
        }
        let later = self.wakes.get(from..)?;
        later.iter().position(|w| *w <= now).map(|i| from + i)
    }
    /// Has every channel with requests look again; returns when the first does.
    pub(super) fn wake(&mut self, delays: &Delays, now: Ps) -> Ps {
        each(self.occupied).fold(NEVER, |next, i| next.min(self.act(i, |c| c.wake(delays, now)).1))
    }
    /// Other writes than before may issue in these banks (a bit each) of every channel.
    pub(super) fn writes_changed(&mut self, banks: u64) {
        self.all.iter_mut().for_each(|c| c.writes.changed(banks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::rng::Stream;

    #[test]
    fn the_channel_that_is_due_is_the_one_a_scan_finds() {
        let mut rng = Stream::new(3, "channels");
        let media = MediaSpec {
            channels: 5,
            ..MediaSpec::default()
        };
        let (mut channels, mut wakes) = (Channels::new(&media, false), [NEVER; 5]);
        for _ in 0..4000 {
            let i = rng.below(5) as usize;
            wakes[i] = if rng.chance(1, 4) { NEVER } else { Ps(rng.below(40)) };
            channels.act(i, |c| c.wake = wakes[i]);
            assert_eq!(channels.next(), wakes.into_iter().fold(NEVER, Ps::min));
            let others = (0..5).filter(|c| *c != i).map(|c| wakes[c]);
            assert_eq!(channels.next_without(i), others.fold(NEVER, Ps::min));
            let (from, now) = (rng.below(7) as usize, Ps(rng.below(40)));
            let due = (from..5).find(|i| wakes[*i] <= now);
            assert_eq!(channels.due(from, now), due);
        }
    }
}
