//! What a design's hardware leaves of a memory before software recovers.

use fencepost_kernel::Image;

/// What hardware recovery leaves of a memory.
pub struct Recovered {
    /// What it leaves undisturbed; `None` if it writes nothing.
    pub image: Option<Image>,
    /// What else it may leave if power fails again meanwhile, and how.
    pub others: Vec<(Image, String)>,
}
impl Recovered {
    /// Memory that it leaves undisturbed of a crashed one.
    pub(super) fn memory<'a>(&'a self, crashed: &'a Image) -> &'a Image {
        self.image.as_ref().unwrap_or(crashed)
    }
}
impl From<Image> for Recovered {
    /// Hardware that nothing disturbs.
    fn from(image: Image) -> Recovered {
        Some(image).into()
    }
}
impl From<Option<Image>> for Recovered {
    /// Hardware that nothing disturbs, and that may write nothing.
    fn from(image: Option<Image>) -> Recovered {
        Recovered {
            image,
            others: Vec::new(),
        }
    }
}
