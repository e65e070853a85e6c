use pillion_wire::ErrorCode;
use pillion_wire::messages::FindCoordinatorResponse;
use pillion_wire::messages::find_coordinator::Coordinator;

use super::{CoordinatorKind, read, request};

fn coordinator(key: &str, node_id: i32, code: ErrorCode) -> Coordinator {
    Coordinator {
        key: key.to_owned(),
        node_id,
        host: "::1".to_owned(),
        port: 9092,
        error_code: code.code(),
        error_message: None,
    }
}

#[test]
fn key_travels_alone_up_to_version_3_and_in_a_list_from_4() {
    let alone = request(CoordinatorKind::Transaction, "orders", 3);
    assert_eq!((alone.key.as_str(), alone.key_type, alone.coordinator_keys.len()), ("orders", 1, 0));
    let listed = request(CoordinatorKind::Group, "orders", 4);
    assert_eq!((listed.key.as_str(), listed.key_type, listed.coordinator_keys), ("", 0, vec!["orders".to_owned()]));
}

#[test]
fn both_forms_of_the_answer_name_the_coordinator() {
    let flat = FindCoordinatorResponse {
        node_id: 3,
        host: "::1".to_owned(),
        port: 9092,
        ..FindCoordinatorResponse::default()
    };
    let coordinators = vec![coordinator("other", 2, ErrorCode::None), coordinator("orders", 3, ErrorCode::None)];
    let listed = FindCoordinatorResponse { coordinators, ..FindCoordinatorResponse::default() };
    for response in [flat, listed] {
        let found = read(response, "orders").unwrap();
        assert_eq!((found.id, &*found.address), (3, "[::1]:9092"));
    }
}

#[test]
fn answer_without_the_key_or_with_an_error_is_an_error() {
    let code = ErrorCode::CoordinatorNotAvailable;
    let refused = FindCoordinatorResponse { coordinators: vec![coordinator("orders", -1, code)], ..Default::default() };
    let empty = FindCoordinatorResponse::default();
    let other =
        FindCoordinatorResponse { coordinators: vec![coordinator("other", 2, ErrorCode::None)], ..Default::default() };
    for response in [refused, empty, other] {
        assert_eq!(read(response, "orders").unwrap_err().error_code(), Some(code));
    }
}
