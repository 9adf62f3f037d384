//! Configuration: TOML texts in layers, resolved into declared parameters.

pub mod layer;
pub mod machine;
pub mod presets;
mod resolve;
mod section;
mod show;
mod source;

pub use layer::{Setting, parse_set};
pub use resolve::{Resolved, find_design, find_program};
pub use section::{Origin, Section, apply};
pub use show::{Change, Document, difference, document};
pub use source::{Place, Source};
