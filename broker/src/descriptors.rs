//! The process' limit of open files: a socket a client and a file a written partition.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Share of the descriptors that open segment files may take; the others are for sockets.
const FILES_SHARE: u64 = 2;
/// Most segment files that are kept open: each costs memory, and opening one again takes microseconds.
const FILES_MAX: u64 = 4096;
/// Fewest, however low the limit is.
const FILES_MIN: u64 = 16;

/// Raises the soft limit to the hard one, and says so when that fails; answers how many segment files to keep open.
pub(crate) fn raise_limit() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            limit.current = before;
            tracing::warn!(%error, limit = before, "cannot raise the limit of open files; many clients may need more (ulimit -n)");
        }
    }
    let files = limit.current.map_or(FILES_MAX, |limit| limit / FILES_SHARE).clamp(FILES_MIN, FILES_MAX);
    usize::try_from(files).unwrap_or(usize::MAX)
}
