//! Why a request has no answer, for a person.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pillion_client::{AdminError, ClientError, ErrorCode};
use serde_json::json;

/// A refusal: a status, and a sentence that says what to do.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    reason: String,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    /// Something asked for that cannot be.
    pub(super) fn bad(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason)
    }

    /// Something asked for that is not there.
    pub(super) fn missing(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, reason)
    }

    /// Somebody else failed.
    pub(super) fn upstream(error: &dyn std::error::Error) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, with_causes(error))
    }
}

/// An error's text and those of its causes.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        source = cause.source();
    }
    text
}

impl From<AdminError> for ApiError {
    fn from(error: AdminError) -> Self {
        match error.error_code() {
            Some(ErrorCode::UnknownTopicOrPartition) => Self::missing("there is no topic of this name"),
            Some(ErrorCode::GroupIdNotFound) => Self::missing("there is no group of this name"),
            _ => Self::upstream(&error),
        }
    }
}

impl From<ClientError> for ApiError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::UnknownTopic { .. } => Self::missing("there is no topic of this name"),
            ClientError::UnknownPartition { .. } => Self::missing("the topic has no partition of this number"),
            other => Self::upstream(&other),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.reason }))).into_response()
    }
}
