//! The channels of a controller, and when each has something to do: of many channels few do at a time.

use super::schedule::ChannelScheduler;
use super::spec::MediaSpec;
use super::timed::NEVER;
use super::timing::Delays;
use fencepost_kernel::Ps;

/// All channels.
#[derive(Debug)]
pub struct Channels {
    all: Vec<ChannelScheduler>,
    /// When each looks again, side by side.
    wakes: Vec<Ps>,
    /// Channels that look again, and channels with requests: a bit each.
    awake: u64,
    occupied: u64,
}

impl Channels {
    /// Idle channels. A medium has at most 64.
    pub fn new(media: &MediaSpec) -> Channels {
        let all: Vec<_> = (0..media.channels).map(|i| ChannelScheduler::new(media, i)).collect();
        Channels {
            wakes: vec![NEVER; all.len()],
            all,
            awake: 0,
            occupied: 0,
        }
    }
    /// Number of channels.
    pub fn len(&self) -> usize {
        self.all.len()
    }
    /// A channel.
    pub fn get(&self, index: usize) -> &ChannelScheduler {
        &self.all[index]
    }
    /// Every channel.
    pub fn iter(&self) -> impl Iterator<Item = &ChannelScheduler> {
        self.all.iter()
    }
    /// Lets a channel act; answers what that answers, and when the channel looks again.
    #[inline]
    pub fn act<R>(&mut self, index: usize, act: impl FnOnce(&mut ChannelScheduler) -> R) -> (R, Ps) {
        let channel = &mut self.all[index];
        let answer = act(channel);
        let (bit, wake) = (1 << index, channel.wake.unwrap_or(NEVER));
        self.wakes[index] = wake;
        self.awake = self.awake & !bit | if wake < NEVER { bit } else { 0 };
        self.occupied = self.occupied & !bit | if channel.is_empty() { 0 } else { bit };
        (answer, wake)
    }
    /// When the first channel looks again.
    #[inline]
    pub fn next(&self) -> Ps {
        bits(self.awake).fold(NEVER, |next, i| next.min(self.wakes[i]))
    }
    /// The first channel from `from` on that is due.
    #[inline]
    pub fn due(&self, from: usize, now: Ps) -> Option<usize> {
        let later = u64::MAX.checked_shl(from as u32).unwrap_or(0);
        bits(self.awake & later).find(|i| self.wakes[*i] <= now)
    }
    /// Has every channel with requests look again; answers when the first does.
    pub fn wake(&mut self, delays: &Delays, now: Ps) -> Ps {
        bits(self.occupied).fold(NEVER, |next, i| next.min(self.act(i, |c| c.wake(delays, now)).1))
    }
    /// Other writes than before may issue in every channel.
    pub fn writes_changed(&mut self) {
        self.all.iter_mut().for_each(|c| c.writes.all_changed());
    }
}

/// The positions of the bits of a mask.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}
