//! Consumer groups as clients meet them: requests in bytes over sockets, to a broker on a real disk.

mod administration;
mod bad_requests;
mod life;
mod member;
mod offsets;
mod static_members;
#[path = "../over_sockets/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the other tests over sockets, which use the rest")]
mod support;
mod transactional_offsets;
mod versions;
