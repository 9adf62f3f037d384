//! Memory controllers and media.
