//! The page's JSON.

use serde_json::{Value, json};

use crate::scene::{Scene, connector};

const HOSTILE: &str = "<img src=x onerror=alert(1)>";

#[tokio::test]
async fn records_are_found_by_key_value_and_header() {
    let scene = Scene::new(&[]).await;
    scene.topic("orders", 2, &[]).await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    scene.produce("orders", "k1", b"{\"total\":7}", &[("traceparent", trace), ("type", "OrderPlaced")]).await;
    scene.produce("orders", "k2", &[0xff, 0x00], &[]).await;
    scene.produce("orders", HOSTILE, HOSTILE.as_bytes(), &[(HOSTILE, HOSTILE)]).await;
    let found = |query: &str| {
        let path = format!("/api/messages?topic=orders&{query}");
        let scene = &scene;
        async move { scene.get(&path).await.json() }
    };
    let all = found("from=earliest").await;
    assert_eq!((all["records"].as_array().unwrap().len(), all["ended"].as_str()), (3, Some("end")));
    let one = found("key=k1").await;
    let record = &one["records"][0];
    assert_eq!(record["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(record["value"]["text"], "{\"total\":7}");
    assert_eq!(found("header=type=OrderP").await["records"], one["records"]);
    assert_eq!(found("value=total").await["records"], one["records"]);
    assert_eq!(found("header=type=Shipped").await["records"], json!([]));
    assert_eq!(found("key=k2").await["records"][0]["value"], json!({ "hex": "ff00", "bytes": 2, "cut": false }));
    assert_eq!(found("value=onerror").await["records"][0]["headers"][0]["name"], HOSTILE);
    assert_eq!(found("from=earliest&limit=1").await["ended"], "limit");
    scene.stop().await;
}

#[tokio::test]
async fn places_in_a_partition_are_found_and_missing_ones_are_said() {
    let scene = Scene::new(&[]).await;
    scene.topic("t", 1, &[]).await;
    for number in 0..10 {
        scene.produce("t", "k", format!("{number}").as_bytes(), &[]).await;
    }
    let offsets = |answer: Value| -> Vec<i64> {
        answer["records"].as_array().unwrap().iter().map(|record| record["offset"].as_i64().unwrap()).collect()
    };
    let get = |path: String| {
        let scene = &scene;
        async move { scene.get(&path).await }
    };
    assert_eq!(offsets(get("/api/messages?topic=t&limit=3".into()).await.json()), [7, 8, 9]);
    let middle = get("/api/messages?topic=t&partition=0&from=offset&offset=4&limit=2".into()).await.json();
    assert_eq!((offsets(middle.clone()), &middle["next"]), (vec![4, 5], &json!([[0, 6]])));
    let time = middle["records"][0]["timestampMs"].as_i64().unwrap();
    let timed = get(format!("/api/messages?topic=t&from=time&time={time}")).await.json();
    assert!(offsets(timed).contains(&4));
    assert_eq!(get("/api/message?topic=t&partition=0&offset=4".into()).await.json()["value"]["text"], "4");
    for (path, status) in [
        ("/api/message?topic=t&partition=0&offset=10", 404),
        ("/api/message?topic=t&partition=1&offset=0", 404),
        ("/api/message?topic=missing&partition=0&offset=0", 404),
        ("/api/messages?topic=missing", 404),
        ("/api/messages?topic=t&partition=7", 404),
        ("/api/messages?topic=t&from=time", 400),
        ("/api/messages?topic=t&from=nowhere", 400),
        ("/api/topic?name=missing", 404),
        ("/api/group?name=missing", 404),
        ("/api/connector?name=missing", 404),
    ] {
        assert_eq!(get(path.to_owned()).await.status, status, "{path}");
    }
    scene.stop().await;
}

#[tokio::test]
async fn topics_groups_and_the_broker_are_described() {
    let scene = Scene::new(&[]).await;
    scene.topic("orders", 2, &[("retention.ms", "60000")]).await;
    scene.produce("orders", "k", b"v", &[]).await;
    let listed = scene.get("/api/topics?search=ORD").await.json();
    assert_eq!((listed["total"].as_u64(), &listed["topics"][0]["records"]), (Some(1), &json!(1)));
    let topic = scene.get("/api/topic?name=orders").await.json();
    assert_eq!(topic["partitions"].as_array().unwrap().len(), 2);
    let configs = topic["configs"].as_array().unwrap();
    let retention = configs.iter().find(|config| config["name"] == "retention.ms").unwrap();
    assert_eq!((&retention["value"], &retention["source"]), (&json!("60000"), &json!("topic")));
    let committed = pillion_client::CommittedOffset {
        topic: "orders".to_owned(),
        partition: 0,
        offset: 0,
        leader_epoch: -1,
        metadata: None,
    };
    let group = pillion_client::GroupMetadata::outside(HOSTILE);
    scene.client.commit_offsets(&group, vec![committed]).await.unwrap();
    let groups = scene.get("/api/groups").await.json();
    assert_eq!((&groups["groups"][0]["name"], &groups["groups"][0]["state"]), (&json!(HOSTILE), &json!("Empty")));
    let group = scene.get("/api/group?name=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E").await.json();
    assert_eq!(group["topics"][0]["partitions"][0]["committed"], 0);
    let broker = scene.get("/api/broker").await.json();
    assert!(broker["configs"].as_array().unwrap().iter().any(|config| config["name"] == "num.partitions"));
    assert_eq!(broker["counted"]["topics"], 2, "the groups' own topic is one");
    let overview = scene.get("/api/overview").await.json();
    assert_eq!(overview["settings"], json!({ "allowWrites": false, "traceUrl": null }));
    assert!(scene.eventually("/api/history", |answer| answer.json()[0]["atMs"].is_i64()).await.status == 200);
    scene.stop().await;
}

#[tokio::test]
async fn a_connectors_password_is_nowhere() {
    let scene = Scene::new(&[]).await;
    scene.console.watched().connector_started(connector("shop"));
    for path in ["/api/connectors", "/api/connector?name=shop", "/api/overview", "/metrics", "/readyz"] {
        let answer = scene.get(path).await;
        assert!(!answer.body.contains("hunter2"), "{path}: {}", answer.body);
    }
    let described = scene.get("/api/connector?name=shop").await.json();
    assert_eq!(described["slotName"], "pillion");
    assert!(described["health"]["error"].as_str().unwrap().contains("127.0.0.1"), "{described}");
    scene.stop().await;
}
