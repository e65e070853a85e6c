use super::*;

/// A real server from whatever the machine has; tests that need one say so when there is none.
async fn start(options: EmbeddedPostgresOptions) -> EmbeddedPostgres {
    EmbeddedPostgres::start(options).await.expect("these tests need PostgreSQL 14 or newer, installed or fetched")
}

/// Runs statements; the answer is the first column of the last row.
async fn ask(url: &str, statements: &str) -> String {
    use tokio_postgres::SimpleQueryMessage::Row;
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let messages = client.simple_query(statements).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    let row = messages.into_iter().rev().find_map(|message| if let Row(row) = message { Some(row) } else { None });
    row.unwrap().get(0).unwrap().to_owned()
}

#[tokio::test]
async fn a_temporary_server_decodes_logically_and_leaves_nothing() {
    let server = start(EmbeddedPostgresOptions::default()).await;
    assert_eq!(ask(&server.url("postgres"), "SHOW wal_level").await, "logical");
    assert_eq!(ask(&server.url("postgres"), "SHOW listen_addresses").await, "127.0.0.1");
    let base = server.log_path().parent().unwrap().to_owned();
    assert!(base.exists());
    server.stop().await.unwrap();
    assert!(!base.exists());
}

#[tokio::test]
async fn a_wrong_password_is_refused() {
    let server = start(EmbeddedPostgresOptions::default()).await;
    let wrong = server.url("postgres").replace(&server.cluster.password, "wrong");
    let error = log_in(&wrong).await.unwrap_err();
    assert_eq!(error.code(), Some(&tokio_postgres::error::SqlState::INVALID_PASSWORD));
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_kept_cluster_still_has_its_data_at_the_next_start() {
    let directory = temporary_directory().unwrap();
    let options = || EmbeddedPostgresOptions { directory: Some(directory.path().join("kept")), ..Default::default() };
    let server = start(options()).await;
    assert_eq!(ask(&server.url("postgres"), "CREATE TABLE kept (n int); SELECT 'made'").await, "made");
    server.stop().await.unwrap();

    let server = start(options()).await;
    assert_eq!(ask(&server.url("postgres"), "SELECT count(*)::text FROM kept").await, "0");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_left_by_a_killed_pillion_is_stopped_by_the_next() {
    let directory = temporary_directory().unwrap();
    let options = || EmbeddedPostgresOptions { directory: Some(directory.path().join("kept")), ..Default::default() };
    // As if pillion and its guard had been killed together: the lock goes, the server stays.
    let EmbeddedPostgres { process: mut left_behind, cluster, .. } = start(options()).await;
    drop(cluster);
    assert!(left_behind.try_wait().unwrap().is_none(), "the first server is still there");

    let second = start(options()).await;
    let ended = left_behind.stop(STOP_PATIENCE).await.unwrap();
    assert_eq!(describe_exit(ended), "exit code 0", "it was shut down, not killed");
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let options = EmbeddedPostgresOptions { port, ..Default::default() };
    let error = EmbeddedPostgres::start(options).await.unwrap_err().to_string();
    assert!(error.contains(&format!("cannot have port {port}")), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_start_is_quoted_with_its_log() {
    let directory = temporary_directory().unwrap();
    let base = directory.path().join("kept");
    let options = || EmbeddedPostgresOptions { directory: Some(base.clone()), ..Default::default() };
    start(options()).await.stop().await.unwrap();
    std::fs::write(base.join("data/postgresql.conf"), "no_such_setting = on\n").unwrap();
    let error = EmbeddedPostgres::start(options()).await.unwrap_err().to_string();
    assert!(error.contains("PostgreSQL did not start") && error.contains("no_such_setting"), "{error}");
}

#[test]
fn a_path_in_a_list_setting_is_quoted() {
    assert_eq!(quote_list_item(Path::new("/tmp/a,b \"c\"")), "\"/tmp/a,b \"\"c\"\"\"");
    assert_eq!(quote_list_item(Path::new("")), "");
}
