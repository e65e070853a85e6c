//! DescribeUserScramCredentials (50), version 0: users with SCRAM credentials: none, for there is no authentication.

use std::collections::BTreeMap;

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_user_scram_credentials::DescribeUserScramCredentialsResult;
use pillion_wire::messages::{DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse};

use crate::dispatch::{Call, Flow};

/// Answers.
pub(crate) fn handle(call: Call, request: DescribeUserScramCredentialsRequest) -> Flow {
    let mut times_named: BTreeMap<String, usize> = BTreeMap::new();
    for user in request.users.into_iter().flatten() {
        *times_named.entry(user.name).or_default() += 1;
    }
    let result = |(user, times): (String, usize)| {
        let (code, message) = match times {
            1 => (ErrorCode::ResourceNotFound, "the user has no credentials"),
            _ => (ErrorCode::DuplicateResource, "the user is named twice in the request"),
        };
        DescribeUserScramCredentialsResult {
            user,
            error_code: code.code(),
            error_message: Some(message.to_owned()),
            ..DescribeUserScramCredentialsResult::default()
        }
    };
    let results = times_named.into_iter().map(result).collect();
    call.answer(&DescribeUserScramCredentialsResponse { results, ..DescribeUserScramCredentialsResponse::default() })
}
