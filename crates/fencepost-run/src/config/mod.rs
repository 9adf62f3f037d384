//! Configuration: TOML texts in layers, resolved into declared parameters.

pub mod clients;
mod driven;
mod find;
pub mod layer;
pub mod machine;
mod parts;
mod paths;
pub mod presets;
mod program;
mod resolve;
mod section;
mod show;
mod written;

pub use crate::source::{Place, Source};
pub use find::{find_design, find_program};
pub use layer::{Setting, parse_set};
pub use parts::{DrivenBy, General, SECTIONS, reference};
pub use paths::{declared, every_section, settable};
pub(crate) use resolve::raw_text;
pub use resolve::{Resolved, shape_of};
pub use section::{Origin, Section, apply};
pub use show::{Change, Document, OneValue, difference, document, one_value};
