//! DescribeClientQuotas (48), versions 0 to 1: what clients are held to: nothing, for there are no quotas.
//!
//! Filters are checked as Kafka checks them, so that a wrong one is not taken for an empty answer.

use std::collections::HashSet;

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_client_quotas::ComponentData;
use pillion_wire::messages::{DescribeClientQuotasRequest, DescribeClientQuotasResponse};

use crate::dispatch::{Call, Flow};

const EXACT: i8 = 0;
const DEFAULT: i8 = 1;
const ANY: i8 = 2;
const ADDRESS: &str = "ip";
const ENTITY_TYPES: [&str; 3] = ["user", "client-id", ADDRESS];

/// Answers.
pub(crate) fn handle(call: Call, request: DescribeClientQuotasRequest) -> Flow {
    let response = match check(&request.components) {
        Ok(()) => DescribeClientQuotasResponse { entries: Some(Vec::new()), ..DescribeClientQuotasResponse::default() },
        Err((code, message)) => DescribeClientQuotasResponse {
            error_code: code.code(),
            error_message: Some(message),
            entries: None,
            ..DescribeClientQuotasResponse::default()
        },
    };
    call.answer(&response)
}

fn check(components: &[ComponentData]) -> Result<(), (ErrorCode, String)> {
    let invalid = |message: String| Err((ErrorCode::InvalidRequest, message));
    let mut types = HashSet::new();
    for component in components {
        let entity_type = component.entity_type.as_str();
        if entity_type.is_empty() {
            return invalid("an entity's type is empty".to_owned());
        }
        if !types.insert(entity_type) {
            return invalid(format!("entity type {entity_type} is named twice"));
        }
        match (component.match_type, &component.r#match) {
            (EXACT, None) => return invalid("an exact match needs a name".to_owned()),
            (DEFAULT | ANY, Some(_)) => return invalid("a name is given where none is meant".to_owned()),
            (EXACT | DEFAULT | ANY, _) => {}
            (other, _) => return invalid(format!("match type {other} is not known")),
        }
        if !ENTITY_TYPES.contains(&entity_type) {
            return Err((ErrorCode::UnsupportedVersion, format!("entity type {entity_type} is not known")));
        }
    }
    if types.contains(ADDRESS) && types.len() > 1 {
        return invalid("an address goes with no other entity".to_owned());
    }
    Ok(())
}
