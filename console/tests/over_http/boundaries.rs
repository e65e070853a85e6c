//! Who is answered, and who is not.

use crate::scene::{Scene, connector, console, get, post, request};

#[tokio::test]
async fn it_answers_before_there_is_anything_to_look_at() {
    let console = console(&[]).await;
    assert_eq!(get(&console, "/healthz").await.body, "ok\n");
    assert_eq!(get(&console, "/readyz").await.status, 200, "nothing was started, nothing is missing");
    console.watched().broker_is_coming();
    let answer = get(&console, "/readyz").await;
    assert_eq!((answer.status, answer.json()["reasons"][0]["part"].as_str()), (503, Some("broker")));
    assert_eq!(get(&console, "/healthz").await.status, 200);
    assert_eq!(get(&console, "/api/topics").await.status, 503);
    assert!(get(&console, "/metrics").await.body.contains("\npillion_ready 0\n"));
    console.stop().await;
}

#[tokio::test]
async fn readiness_follows_the_broker_and_the_connectors() {
    let scene = Scene::new(&[]).await;
    scene.eventually("/readyz", |answer| answer.status == 200).await;
    scene.console.watched().connector_started(connector("orders"));
    let answer = scene.get("/readyz").await;
    assert_eq!((answer.status, answer.json()["reasons"][0]["part"].as_str()), (503, Some("connector orders")));
    assert_eq!(scene.get("/readyz?part=broker").await.status, 200);
    assert_eq!(scene.get("/readyz?part=connectors").await.status, 503);
    assert_eq!(scene.get("/readyz?part=moon").await.status, 400);
    let console = scene.stop_broker().await;
    let answer = get(&console, "/readyz?part=broker").await;
    assert_eq!((answer.status, answer.json()["reasons"][0]["reason"].as_str()), (503, Some("it has stopped")));
    console.stop().await;
}

#[tokio::test]
async fn a_foreign_name_gets_nothing() {
    let scene = Scene::new(&[]).await;
    for path in ["/", "/metrics", "/api/topics", "/api/messages?topic=t"] {
        let head = format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\n");
        assert_eq!(request(&scene.console, &head, "").await.status, 403, "{path}");
    }
    scene.stop().await;
}

#[tokio::test]
async fn the_page_comes_with_a_strict_policy() {
    let console = console(&[]).await;
    for path in ["/", "/index.html", "/app.js", "/style.css", "/api/overview", "/no-such-path"] {
        let answer = get(&console, path).await;
        assert_eq!(answer.status, if path == "/no-such-path" { 404 } else { 200 }, "{path}");
        for wanted in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "nosniff"] {
            assert!(answer.head.contains(wanted), "{path} has no {wanted}: {}", answer.head);
        }
        assert!(!answer.head.contains("unsafe-inline"));
    }
    console.stop().await;
}

#[tokio::test]
async fn nothing_is_written_unless_it_is_allowed_and_asked_by_the_page() {
    let body = r#"{"topic":"orders","value":{"text":"x"}}"#;
    let own = "x-pillion-console: 1\r\n";
    let scene = Scene::new(&[]).await;
    scene.topic("orders", 1, &[]).await;
    assert_eq!(post(&scene.console, "/api/messages", own, body).await.status, 403);
    scene.stop().await;
    let scene = Scene::new(&[("ui.allow.writes", "true")]).await;
    scene.topic("orders", 1, &[]).await;
    assert_eq!(post(&scene.console, "/api/messages", "", body).await.status, 403);
    let foreign = "x-pillion-console: 1\r\norigin: http://evil.example\r\n";
    assert_eq!(post(&scene.console, "/api/messages", foreign, body).await.status, 403);
    let answer = post(&scene.console, "/api/messages", own, body).await;
    assert_eq!((answer.status, answer.json()["offset"].as_i64()), (200, Some(0)), "{answer:?}");
    let missing = r#"{"topic":"mistyped","value":{"text":"x"}}"#;
    assert_eq!(post(&scene.console, "/api/messages", own, missing).await.status, 404);
    scene.stop().await;
}

#[tokio::test]
async fn a_taken_default_gives_way_and_a_taken_choice_fails() {
    let first = console(&[]).await;
    let taken = first.address().to_string();
    let mut config =
        pillion_console::ConsoleConfig { listen: Some(taken.clone()), ..pillion_console::ConsoleConfig::default() };
    let second = pillion_console::Console::start(&config).await.unwrap().unwrap();
    assert_ne!(second.address(), first.address());
    config.set("ui.listen", &taken).unwrap();
    assert!(pillion_console::Console::start(&config).await.is_err());
    config.set("ui.listen", "none").unwrap();
    assert!(pillion_console::Console::start(&config).await.unwrap().is_none());
    first.stop().await;
    second.stop().await;
}
