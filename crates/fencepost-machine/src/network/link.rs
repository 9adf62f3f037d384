//! One direction of a link: a message occupies it for its length and arrives a latency later; nothing overtakes.

use fencepost_kernel::Ps;

/// A link.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// When the last bit of what was handed over has left.
    free: Ps,
}
impl Link {
    /// Sends a message that occupies the link for `duration`; returns when its last bit arrives `latency` further on.
    pub(super) fn send(&mut self, now: Ps, duration: Ps, latency: Ps) -> Ps {
        self.free = now.max(self.free) + duration;
        self.free + latency
    }
    /// A message of this duration arrives at the shared end of several links, its last bit not before `arrival`: when it has passed.
    /// Alone it passes as it arrives; those that arrive together follow one another.
    pub(super) fn pass(&mut self, arrival: Ps, duration: Ps) -> Ps {
        self.free = arrival.max(self.free + duration);
        self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_follow_one_another_and_arrive_a_latency_later() {
        let (mut link, latency) = (Link::default(), Ps(1000));
        assert_eq!(link.send(Ps(0), Ps(80), latency), Ps(1080));
        assert_eq!(link.send(Ps(10), Ps(20), latency), Ps(1100));
        assert_eq!(link.send(Ps(500), Ps(20), latency), Ps(1520));
    }

    #[test]
    fn the_shared_end_delays_only_those_that_collide() {
        let mut end = Link::default();
        assert_eq!(end.pass(Ps(1080), Ps(80)), Ps(1080));
        assert_eq!(end.pass(Ps(1100), Ps(80)), Ps(1160));
        assert_eq!(end.pass(Ps(2000), Ps(80)), Ps(2000));
    }
}
