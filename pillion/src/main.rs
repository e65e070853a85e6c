//! Placeholder.
mod child_process;
mod embedded_postgres;
fn main() {}
