//! What a program keeps in a thread's private volatile memory from one operation to the next.

use std::any::Any;
use std::fmt;

/// One thing of a program's own, say a connection to a library that it drives. It may only be a cache: what an operation does to memory
/// must be the same without it, and it is dropped when the hardware rolls the thread back.
#[derive(Default)]
pub struct Private(Option<Box<dyn Any>>);

impl Private {
    /// Takes out what was kept, if it is there and of this type.
    pub fn take<T: 'static>(&mut self) -> Option<T> {
        self.0.take()?.downcast().ok().map(|kept| *kept)
    }
    /// Keeps something for the next operation, instead of what was kept before.
    pub fn keep<T: 'static>(&mut self, what: T) {
        self.0 = Some(Box::new(what));
    }
}
impl fmt::Debug for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Private({})", if self.0.is_some() { "something" } else { "nothing" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn what_is_kept_is_taken_out_once_and_only_as_what_it_is() {
        let mut private = Private::default();
        assert_eq!(private.take::<u32>(), None);
        private.keep(7u32);
        assert_eq!((private.take::<u32>(), private.take::<u32>()), (Some(7), None));
        private.keep(7u32);
        assert_eq!((private.take::<String>(), private.take::<u32>()), (None, None));
    }
}
