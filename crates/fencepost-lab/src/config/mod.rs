//! Configuration: TOML texts in layers, resolved into declared parameters.

pub mod layer;
pub mod machine;
pub mod presets;
mod resolve;
mod section;
mod source;

pub use layer::{Setting, parse_set};
pub use resolve::Resolved;
pub use section::{Origin, Section, apply};
pub use source::{Place, Source};
