//! What a target is, and the promise about memory that all of them keep.

/// Reads bytes; panics where a promise is broken.
pub type Run = Box<dyn Fn(&[u8]) + Send + Sync>;

/// Something that reads bytes.
pub struct Target {
    /// Its name, which is also that of its corpus.
    pub name: String,
    /// Bytes that a fuzzer does well to begin with.
    pub seeds: Vec<Vec<u8>>,
    /// What reads them.
    pub run: Run,
}

/// What `read` answers. Panics when it takes more than `bytes_max` at once.
pub(crate) fn within<T>(bytes_max: usize, what: &str, read: impl FnOnce() -> T) -> T {
    let mut answer = None;
    let memory = allocation_counter::measure(|| answer = Some(read()));
    assert!(memory.bytes_max <= bytes_max as u64, "{what}: {} bytes taken, {bytes_max} allowed", memory.bytes_max);
    answer.expect("it was read")
}
