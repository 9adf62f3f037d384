//! Floor 1: the machine. Cores, caches, coherence, the persist seam, memory controllers and media.

pub mod memory;
pub mod seam;
