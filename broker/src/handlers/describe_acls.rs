//! DescribeAcls (29), versions 1 to 3: who may do what: SECURITY_DISABLED, as any broker without an authorizer says.

use pillion_wire::ErrorCode;
use pillion_wire::messages::{DescribeAclsRequest, DescribeAclsResponse};

use crate::dispatch::{Call, Flow};

/// Answers.
pub(crate) fn handle(call: Call, _request: DescribeAclsRequest) -> Flow {
    call.answer(&DescribeAclsResponse {
        error_code: ErrorCode::SecurityDisabled.code(),
        error_message: Some("there is no authorizer: everyone may do everything".to_owned()),
        ..DescribeAclsResponse::default()
    })
}
