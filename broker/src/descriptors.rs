//! The process' limit of open files: a socket a client and a file a written partition.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the soft limit to the hard one; says so when that fails.
pub(crate) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "cannot raise the limit of open files; many partitions or clients may need more (ulimit -n)");
    }
}
