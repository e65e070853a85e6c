//! ApiVersions (18), versions 0 to 4: which APIs there are, and the cluster's features.
//!
//! The list is the dispatch table. A version above what is known gets version 0 with UNSUPPORTED_VERSION on the same
//! connection; a client name that is not one gets INVALID_REQUEST (KIP-511). Features: none are finalized until
//! transactions are here, so Java clients do not use transactions v2 (KIP-890).

use pillion_wire::ErrorCode;
use pillion_wire::messages::api_versions::ApiVersion;
use pillion_wire::messages::{ApiVersionsRequest, ApiVersionsResponse};

use crate::dispatch::{APIS, Call, Flow};
use crate::network::Responder;

/// Answers the list.
pub(crate) fn handle(call: Call, request: ApiVersionsRequest) -> Flow {
    let names = [&request.client_software_name, &request.client_software_version];
    if call.version() >= 3 && !names.into_iter().all(|name| is_valid(name)) {
        let response =
            ApiVersionsResponse { error_code: ErrorCode::InvalidRequest.code(), ..ApiVersionsResponse::default() };
        return call.answer(&response);
    }
    call.answer(&list(ErrorCode::None))
}

/// Tells a newer client what it may ask.
pub(crate) fn answer_unsupported(responder: Responder) {
    responder.answer_in_version(&list(ErrorCode::UnsupportedVersion), 0);
}

fn list(error: ErrorCode) -> ApiVersionsResponse {
    let version = |api: &crate::dispatch::Api| ApiVersion {
        api_key: api.key,
        min_version: *api.advertised.start(),
        max_version: *api.advertised.end(),
    };
    ApiVersionsResponse { error_code: error.code(), api_keys: APIS.iter().map(version).collect(), ..Default::default() }
}

/// Letters, digits, dots and dashes, with a letter or digit at both ends (KIP-511).
fn is_valid(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    let bytes = name.as_bytes();
    bytes.first().copied().is_some_and(plain)
        && bytes.last().copied().is_some_and(plain)
        && bytes.iter().all(|byte| plain(*byte) || matches!(byte, b'.' | b'-'))
}
