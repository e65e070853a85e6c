use serde_json::json;

use super::*;

#[test]
fn only_a_2xx_answer_with_json_is_taken() {
    let answer = |status, body: &str| HttpAnswer { status, body: body.to_owned() };
    assert_eq!(json_of(&answer(202, "{\"orderId\":\"7\"}")).unwrap(), json!({ "orderId": "7" }));
    let refused = answer(422, "{\"error\":\"quantity\"}");
    for (answer, expected) in
        [(refused, "answered 422: {\"error\":\"quantity\"}"), (answer(200, "fine"), "not with JSON")]
    {
        let error = format!("{:#}", json_of(&answer).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
}
