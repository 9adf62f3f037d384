//! What a design's hardware writes after a power failure, and in which order that becomes durable.
//!
//! Recovery reads memory and hands over writes in *stages*: the writes of a stage may become durable in any order, and a stage is handed
//! over when the one before is durable.

use fencepost_kernel::{Image, LineAddr, LineData};

/// A write of recovery's.
pub(super) type Repair = (LineAddr, LineData);

/// Memory as hardware recovery sees it: reads see what it has written.
pub struct Recovery<'a> {
    image: &'a mut Image,
    pub(super) stages: Vec<Vec<Repair>>,
    /// What every line held before it was written, in the order of the writes.
    pub(super) before: Vec<Repair>,
}

impl<'a> Recovery<'a> {
    /// Recovery of this memory.
    pub fn new(image: &'a mut Image) -> Recovery<'a> {
        Recovery {
            image,
            stages: vec![Vec::new()],
            before: Vec::new(),
        }
    }
    /// Memory with all that was written.
    pub fn image(&self) -> &Image {
        self.image
    }
    /// Writes a line. A stage writes each line once.
    pub fn write(&mut self, line: LineAddr, data: LineData) {
        self.before.push((line, self.image.line(line)));
        self.image.set_line(line, &data);
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
