//! Exploration of every crash state that a contract allows.
