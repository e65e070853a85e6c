use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

/// What comes of a server that answers so.
async fn asked(answer: &'static [u8]) -> io::Result<HttpAnswer> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 1024];
        let length = stream.read(&mut request).await.unwrap();
        stream.write_all(answer).await.unwrap();
        String::from_utf8(request[..length].to_vec()).unwrap()
    });
    let got = get(&address, "/readyz", PATIENCE).await;
    assert!(server.await.unwrap().starts_with("GET /readyz HTTP/1.0\r\n"));
    got
}

#[tokio::test]
async fn status_and_body_are_told_apart() {
    let answer = asked(b"HTTP/1.0 503 Service Unavailable\r\na: b\r\n\r\n{\"ready\":false}").await.unwrap();
    assert_eq!(answer, HttpAnswer { status: 503, body: "{\"ready\":false}".to_owned() });
}

#[tokio::test]
async fn what_is_not_http_is_an_error() {
    for wrong in
        [&b""[..], b"hello", b"hello 200\r\n\r\n", b"HTTP/1.1 200 OK\r\nbreaks: off", b"HTTP/1.1\r\n\r\n", b"\xff"]
    {
        assert!(asked(wrong).await.is_err(), "{wrong:?}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let error = get(&address, "/", Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_request_carries_its_body_and_the_answer_is_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
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
    let answer = post_json(&address, "/orders", "{\"sku\":\"bicycle\"}", PATIENCE).await.unwrap();
    assert_eq!(answer, HttpAnswer { status: 202, body: "{\"ok\":true}".to_owned() });
    let request = server.await.unwrap();
    assert!(
        request.starts_with("POST /orders HTTP/1.0\r\n") && request.contains("content-length: 17\r\n"),
        "{request}"
    );
}
