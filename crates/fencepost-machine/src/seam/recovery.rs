//! What a design's hardware writes after a power failure, and in which order that becomes durable.
//!
//! Recovery reads memory and hands over writes in *stages*: the writes of a stage may become durable in any order, and a stage is handed
//! over when the one before is durable.

use fencepost_kernel::{Image, LineAddr, LineData};
use std::borrow::Cow;

/// A write of recovery's.
pub(super) type Repair = (LineAddr, LineData);

/// Memory as hardware recovery sees it: reads see what it has written.
pub struct Recovery<'a> {
    memory: Memory<'a>,
    pub(super) stages: Vec<Vec<Repair>>,
    /// What every line held before it was written, in the order of the writes.
    pub(super) before: Vec<Repair>,
}

/// Where recovery writes.
enum Memory<'a> {
    InPlace(&'a mut Image),
    /// A copy, made at the first write: most hardware has nothing to recover.
    Copy(Box<Cow<'a, Image>>),
}

impl<'a> Recovery<'a> {
    /// Recovery of this memory, in place.
    pub fn new(image: &'a mut Image) -> Recovery<'a> {
        Recovery::with(Memory::InPlace(image))
    }
    /// Recovery of a copy of this memory.
    pub fn of_copy(image: &'a Image) -> Recovery<'a> {
        Recovery::with(Memory::Copy(Box::new(Cow::Borrowed(image))))
    }
    fn with(memory: Memory<'a>) -> Recovery<'a> {
        Recovery {
            memory,
            stages: vec![Vec::new()],
            before: Vec::new(),
        }
    }
    /// Memory with all that was written.
    pub fn image(&self) -> &Image {
        match &self.memory {
            Memory::InPlace(image) => image,
            Memory::Copy(image) => image,
        }
    }
    /// The copy, if anything was written.
    pub fn copy(self) -> Option<Image> {
        match self.memory {
            Memory::Copy(image) => match *image {
                Cow::Owned(image) => Some(image),
                Cow::Borrowed(_) => None,
            },
            Memory::InPlace(_) => None,
        }
    }
    /// Writes a line. A stage writes each line once.
    pub fn write(&mut self, line: LineAddr, data: LineData) {
        self.before.push((line, self.image().line(line)));
        let image = match &mut self.memory {
            Memory::InPlace(image) => image,
            Memory::Copy(image) => image.to_mut(),
        };
        image.set_line(line, &data);
        if let Some(stage) = self.stages.last_mut() {
            stage.push((line, data));
        }
    }
    /// All that was written must be durable before what follows is handed over.
    pub fn barrier(&mut self) {
        if self.stages.last().is_some_and(|s| !s.is_empty()) {
            self.stages.push(Vec::new());
        }
    }
}
