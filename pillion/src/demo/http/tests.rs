use serde_json::json;
use tokio::net::TcpListener;

use super::*;

#[test]
fn only_a_2xx_answer_with_json_is_taken() {
    let accepted = b"HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\n\r\n{\"orderId\":\"7\"}";
    assert_eq!(parse_answer(accepted).unwrap(), json!({ "orderId": "7" }));
    let cases: [(&[u8], &str); 4] = [
        (
            b"HTTP/1.1 422 Unprocessable Content\r\n\r\n{\"error\":\"quantity\"}",
            "answered 422: {\"error\":\"quantity\"}",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nfine", "not with JSON"),
        (b"HTTP/1.1 200 OK\r\n", "breaks off"),
        (b"", "breaks off"),
    ];
    for (answer, expected) in cases {
        let error = format!("{:#}", parse_answer(answer).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn the_request_carries_its_body_and_the_answer_is_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = String::new();
        while !request.ends_with("{\"sku\":\"bicycle\"}") {
            let mut bytes = [0; 1024];
            let length = stream.read(&mut bytes).await.unwrap();
            request.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
        }
        stream.write_all(b"HTTP/1.1 202 Accepted\r\n\r\n{\"ok\":").await.unwrap();
        stream.write_all(b"true}").await.unwrap();
        request
    });
    let answer = post_json(address, "/orders", &json!({ "sku": "bicycle" })).await.unwrap();
    assert_eq!(answer, json!({ "ok": true }));
    let request = server.await.unwrap();
    assert!(
        request.starts_with("POST /orders HTTP/1.1\r\n") && request.contains("content-length: 17\r\n"),
        "{request}"
    );
}
