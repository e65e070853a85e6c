use super::*;

#[test]
fn an_overview_is_read_and_nothing_else_is() {
    let body = r#"{"version":"1","process":{"startedMs":5,"residentBytes":7,"cpuSeconds":0.5},"more":1,
        "broker":{"clusterId":"c","receivedBytes":1,"sentBytes":2,"connections":3},"connectors":[]}"#;
    let answer = |status, body: &str| HttpAnswer { status, body: body.to_owned() };
    let overview = read(&answer(200, body)).unwrap();
    assert_eq!((overview.process.unwrap().started_ms, overview.broker.unwrap().connections), (5, 3));
    for wrong in [answer(200, ""), answer(200, "hello"), answer(404, body)] {
        assert!(read(&wrong).is_none(), "{wrong:?}");
    }
}
