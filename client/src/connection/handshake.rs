//! The first exchange on a connection: ApiVersions. Authentication (SASL) would come behind it here.

use bytes::Bytes;
use pillion_wire::messages::{ApiVersionsRequest, ApiVersionsResponse};
use pillion_wire::{DecodeError, ErrorCode, Reader, frame};

use super::{ApiVersions, Connection, ConnectionError};

/// Asked first: flexible, names the client (KIP-511), understood by brokers since 2.4.
const FIRST_VERSION: i16 = 3;

/// Learns which versions the broker speaks.
///
/// A broker that does not know the version asked for answers in version 0 with UNSUPPORTED_VERSION; it is asked again
/// in version 0, which all speak.
pub(super) async fn negotiate(connection: &Connection) -> Result<ApiVersions, ConnectionError> {
    let request = ApiVersionsRequest {
        client_software_name: "pillion".to_owned(),
        client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
        cluster_id: None,
        node_id: -1,
    };
    let mut version = FIRST_VERSION;
    let mut answer = connection.exchange(&request, version).await?;
    if error_code(&answer)? == ErrorCode::UnsupportedVersion {
        version = 0;
        answer = connection.exchange(&request, version).await?;
    }
    let (_, response) = frame::decode_response::<ApiVersionsResponse>(&answer, version).map_err(decode_error)?;
    match ErrorCode::from_code(response.error_code) {
        ErrorCode::None => Ok(ApiVersions::new(&response)),
        code => Err(ConnectionError::Handshake { address: connection.address.to_string(), code }),
    }
}

/// The error code, which stands right behind the correlation id in every version.
fn error_code(answer: &Bytes) -> Result<ErrorCode, ConnectionError> {
    let mut reader = Reader::new(answer);
    reader.get_i32().and_then(|_| reader.get_i16()).map(ErrorCode::from_code).map_err(decode_error)
}

fn decode_error(source: DecodeError) -> ConnectionError {
    ConnectionError::Decode { what: "ApiVersions", source }
}
