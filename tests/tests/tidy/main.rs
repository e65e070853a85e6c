//! The house rules that a compiler does not know, held over the workspace's own files.
//!
//! Each module is one rule: a checker from text to complaints, a test that the workspace has none, and a test that a
//! bad snippet gets one. Invariant: nothing here reads anything but files that belong to the repository.

mod documents;
mod headers;
mod keywords;
mod layers;
mod names;
mod paths;
mod purity;
mod sizes;
mod words;
mod workspace;
