//! Parts that decide and never act: bytes or events in, bytes or actions out. They see no file, socket, clock or task.

use crate::paths::{is_within, paths};
use crate::workspace::{assert_none, rust_files};

/// Whatever acts on the world. `std::io` stays allowed: its traits and errors move no byte by themselves.
const ACTING: [&str; 12] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::env",
    "std::time::Instant",
    "std::time::SystemTime",
    "tokio",
    "tokio_util",
    "tokio_postgres",
    "pgwire_replication",
    "rustix",
];

/// A part of the workspace, and what it may not name beyond [`ACTING`].
struct Pure {
    folder: &'static str,
    also: &'static [&'static str],
    /// Paths below it that begin so are its way to the world.
    but: Option<&'static str>,
}

const PURE: [Pure; 8] = [
    Pure { folder: "wire/src/", also: &[], but: None },
    Pure { folder: "wire/derive/src/", also: &[], but: None },
    Pure { folder: "cdc/src/pgoutput/", also: &[], but: None },
    Pure { folder: "cdc/src/router/", also: &[], but: None },
    // Its files come through the disk's seam, its time from its caller; requests are the handlers' business.
    // Its simulation is a test, which tells its stories on several threads.
    Pure { folder: "broker/src/log/", also: &["pillion_wire::messages"], but: Some("broker/src/log/simulation") },
    // The group's state machine; the coordinator gives it the time and does what it decides.
    Pure { folder: "broker/src/groups/", also: &[], but: Some("broker/src/groups/coordinator") },
    // The transactional ids' state machine, likewise.
    Pure { folder: "broker/src/transactions/", also: &[], but: Some("broker/src/transactions/coordinator") },
    // The example's saga: what it decides, its service carries out.
    Pure { folder: "examples/saga/src/order/saga", also: &[], but: None },
];

fn complaints(path: &str, source: &str, also: &[&str]) -> Vec<String> {
    let is_forbidden = |name: &String| ACTING.iter().chain(also).any(|module| is_within(name, module));
    let mut found: Vec<String> = paths(source).into_iter().filter(is_forbidden).collect();
    found.dedup();
    found.into_iter().map(|name| format!("{path} names {name}")).collect()
}

#[test]
fn what_decides_does_not_act() {
    let sources = rust_files();
    let mut found = Vec::new();
    for pure in PURE {
        let is_inside =
            |path: &str| path.starts_with(pure.folder) && pure.but.is_none_or(|exception| !path.starts_with(exception));
        let inside = sources.iter().filter(|file| is_inside(&file.path) && !file.is_test()).collect::<Vec<_>>();
        assert!(!inside.is_empty(), "{} is not there any more", pure.folder);
        found.extend(inside.iter().flat_map(|file| complaints(&file.path, &file.text, pure.also)));
    }
    assert_none(&found);
}

#[test]
fn an_act_is_found() {
    for source in [
        "use std::{fmt, fs};",
        "use std::time::{Duration, Instant};",
        "fn f() { std::net::TcpStream::connect(x) }",
        "async fn f() { tokio::spawn(g()) }",
        "use tokio::sync::mpsc;",
        "fn f() { println!(\"{:?}\", std::time::SystemTime::now()) }",
    ] {
        assert_eq!(complaints("a.rs", source, &[]).len(), 1, "{source}");
    }
    let source = "use pillion_wire::messages::produce::TopicProduceData;";
    assert_eq!(complaints("a.rs", source, &["pillion_wire::messages"]).len(), 1);
    assert!(complaints("a.rs", source, &[]).is_empty());
    assert!(complaints("a.rs", "use std::io::Read; use std::time::Duration; // std::fs", &[]).is_empty());
}
