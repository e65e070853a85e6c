//! ApiVersions (18), versions 0 to 5: which APIs there are, and the cluster's features.
//!
//! The list is the dispatch table. A version above what is known gets version 0 with UNSUPPORTED_VERSION on the same
//! connection; a client name that is not one gets INVALID_REQUEST (KIP-511). Features are those of the table; clients
//! of version 3 cannot read one whose lowest level is 0 (KAFKA-17011). Clients of version 5 may say whom they expect:
//! where an address has become another broker's, they are sent back to their bootstrap addresses (KIP-1242).

use pillion_wire::ErrorCode;
use pillion_wire::messages::api_versions::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
use pillion_wire::messages::{ApiVersionsRequest, ApiVersionsResponse};

use crate::broker::BrokerState;
use crate::dispatch::{APIS, Call, Flow};
use crate::features::{self, FEATURES, Feature};
use crate::network::Responder;

/// The node id of a client that takes whichever it reaches.
const ANY_NODE: i32 = -1;

/// Answers the list.
pub(crate) fn handle(call: Call, request: ApiVersionsRequest) -> Flow {
    if let Err(error) = check(&request, call.version(), &call.broker) {
        return call.answer(&ApiVersionsResponse { error_code: error.code(), ..ApiVersionsResponse::default() });
    }
    let lowest = if call.version() == 3 { 1 } else { 0 };
    call.answer(&ApiVersionsResponse {
        supported_features: FEATURES.iter().filter(|feature| feature.min >= lowest).map(supported).collect(),
        finalized_features_epoch: features::EPOCH,
        finalized_features: FEATURES.iter().filter(|feature| feature.finalized > 0).map(finalized).collect(),
        ..list(ErrorCode::None)
    })
}

/// Whether the client says who it is, and has reached whom it expects, if it says so: both cluster and node, or neither.
fn check(request: &ApiVersionsRequest, version: i16, broker: &BrokerState) -> Result<(), ErrorCode> {
    let names = [&request.client_software_name, &request.client_software_version];
    if version >= 3 && !names.into_iter().all(|name| is_valid(name)) {
        return Err(ErrorCode::InvalidRequest);
    }
    match (&request.cluster_id, request.node_id) {
        (None, ANY_NODE) => Ok(()),
        (None, _) | (Some(_), ANY_NODE) => Err(ErrorCode::InvalidRequest),
        (Some(cluster_id), node_id) if *cluster_id == broker.cluster_id && node_id == broker.config.node_id => Ok(()),
        (Some(_), _) => Err(ErrorCode::RebootstrapRequired),
    }
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

fn supported(feature: &Feature) -> SupportedFeatureKey {
    SupportedFeatureKey { name: feature.name.to_owned(), min_version: feature.min, max_version: feature.max }
}

fn finalized(feature: &Feature) -> FinalizedFeatureKey {
    let (max_version_level, min_version_level) = (feature.finalized, feature.finalized);
    FinalizedFeatureKey { name: feature.name.to_owned(), max_version_level, min_version_level }
}

/// Letters, digits, dots and dashes, with a letter or digit at both ends (KIP-511).
fn is_valid(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    let bytes = name.as_bytes();
    bytes.first().copied().is_some_and(plain)
        && bytes.last().copied().is_some_and(plain)
        && bytes.iter().all(|byte| plain(*byte) || matches!(byte, b'.' | b'-'))
}
