//! DescribeDelegationToken (41), versions 1 to 3: tokens that stand for users, which nobody who is anonymous can have.

use pillion_wire::ErrorCode;
use pillion_wire::messages::{DescribeDelegationTokenRequest, DescribeDelegationTokenResponse};

use crate::dispatch::{Call, Flow};

/// Answers.
pub(crate) fn handle(call: Call, _request: DescribeDelegationTokenRequest) -> Flow {
    let error_code = ErrorCode::DelegationTokenRequestNotAllowed.code();
    call.answer(&DescribeDelegationTokenResponse { error_code, ..DescribeDelegationTokenResponse::default() })
}
