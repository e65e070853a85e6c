//! The check of a client's leader epoch, shared by the APIs that carry one (KIP-320).

use pillion_wire::ErrorCode;

/// Compares the epoch a client believes in with the broker's; −1 means that it does not say.
///
/// # Errors
/// FENCED_LEADER_EPOCH for an older one, UNKNOWN_LEADER_EPOCH for a newer one.
pub(crate) fn check_leader_epoch(clients: i32, brokers: i32) -> Result<(), ErrorCode> {
    match clients {
        -1 => Ok(()),
        older if older < brokers => Err(ErrorCode::FencedLeaderEpoch),
        newer if newer > brokers => Err(ErrorCode::UnknownLeaderEpoch),
        _ => Ok(()),
    }
}
