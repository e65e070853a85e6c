use super::*;

#[tokio::test]
async fn nothing_passes_while_it_is_closed_and_nothing_is_lost() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let detour = Detour::start(server.local_addr().unwrap().to_string()).await.unwrap();
    let mut service = TcpStream::connect(detour.address()).await.unwrap();
    let (mut database, _) = server.accept().await.unwrap();

    detour.close(true);
    service.write_all(b"BEGIN").await.unwrap();
    let mut heard = [0; 5];
    let early = tokio::time::timeout(std::time::Duration::from_millis(100), database.read_exact(&mut heard)).await;
    assert!(early.is_err(), "it has come through: {heard:?}");
    detour.close(false);
    database.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"BEGIN");
    database.write_all(b"OK").await.unwrap();
    let mut answer = [0; 2];
    service.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"OK");
}
