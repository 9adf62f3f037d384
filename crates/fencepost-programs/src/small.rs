//! A list that stays on the stack until it grows past `N`: what a transaction keeps must not allocate in the common case.

/// A growable list that holds up to `N` elements in place.
#[derive(Clone, Debug)]
pub struct Small<T, const N: usize> {
    inline: [T; N],
    len: usize,
    spill: Vec<T>,
}

impl<T: Copy, const N: usize> Small<T, N> {
    /// An empty list; `filler` only fills unused slots.
    pub fn new(filler: T) -> Self {
        Small {
            inline: [filler; N],
            len: 0,
            spill: Vec::new(),
        }
    }
    /// Appends an element.
    pub fn push(&mut self, value: T) {
        if self.len < N {
            self.inline[self.len] = value;
        } else {
            if self.len == N {
                self.spill.extend_from_slice(&self.inline);
            }
            self.spill.push(value);
        }
        self.len += 1;
    }
    /// The elements.
    pub fn as_slice(&self) -> &[T] {
        if self.len <= N {
            &self.inline[..self.len]
        } else {
            &self.spill
        }
    }
    /// The elements, to be changed in place.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        if self.len <= N {
            &mut self.inline[..self.len]
        } else {
            &mut self.spill
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn spills_without_losing_or_reordering() {
        let mut s = Small::<u32, 4>::new(0);
        for n in 0..10 {
            assert_eq!(s.as_slice(), (0..n).collect::<Vec<_>>());
            s.push(n);
        }
        s.as_mut_slice()[9] = 99;
        assert_eq!(s.as_slice()[8..], [8, 99]);
    }

    /// Elements change in place whether they lie on the stack or not, at the border too.
    #[test]
    fn elements_change_in_place() {
        for n in 0..10usize {
            let mut s = Small::<usize, 4>::new(0);
            (0..n).for_each(|i| s.push(i));
            s.as_mut_slice().iter_mut().for_each(|e| *e += 100);
            assert_eq!(s.as_slice(), (100..100 + n).collect::<Vec<_>>());
            s.push(7);
            assert_eq!(s.as_slice().last(), Some(&7));
            assert_eq!(s.as_slice().len(), n + 1);
        }
    }
}
