//! Who may depend on whom. The connector knows the broker by Kafka's protocol only, and the examples use nothing that a
//! user's own service would not have.

use std::collections::BTreeSet;
use std::fs;

use crate::workspace::{assert_none, root};

/// A crate, its folder, and the crates of the workspace it may depend on; for its tests it may use others too, but for
/// `never`.
struct Layer {
    folder: &'static str,
    may: &'static [&'static str],
    never: &'static [&'static str],
}

const LAYERS: [Layer; 13] = [
    Layer { folder: "wire/derive", may: &[], never: &[] },
    Layer { folder: "wire", may: &["pillion-wire-derive"], never: &[] },
    Layer { folder: "client", may: &["pillion-wire"], never: &["pillion-cdc"] },
    Layer { folder: "trace-context", may: &[], never: &[] },
    Layer { folder: "broker", may: &["pillion-wire", "pillion-trace-context"], never: &["pillion-cdc"] },
    Layer { folder: "cdc", may: &["pillion-client", "pillion-trace-context"], never: &["pillion-broker"] },
    Layer {
        folder: "console",
        may: &["pillion-broker", "pillion-cdc", "pillion-client", "pillion-trace-context"],
        never: &[],
    },
    Layer {
        folder: "pillion",
        may: &[
            "pillion-broker",
            "pillion-cdc",
            "pillion-client",
            "pillion-console",
            "pillion-trace-context",
            "pillion-wire",
        ],
        never: &[],
    },
    Layer { folder: "testing", may: &["pillion-broker"], never: &["pillion-cdc"] },
    Layer { folder: "outbox", may: &[], never: &["pillion-broker", "pillion-cdc", "pillion-client"] },
    Layer {
        folder: "examples/outbox/rust",
        may: &["pillion-outbox"],
        never: &["pillion-broker", "pillion-cdc", "pillion-client", "pillion-trace-context", "pillion-wire"],
    },
    Layer {
        folder: "bench",
        may: &["pillion-wire", "pillion-test-postgres"],
        never: &["pillion-cdc", "pillion-client"],
    },
    Layer {
        folder: "examples/saga",
        may: &["pillion-outbox"],
        never: &["pillion-broker", "pillion-cdc", "pillion-client", "pillion-trace-context", "pillion-wire"],
    },
];

/// What no crate without I/O may depend on.
const WIRE_NEVER: [&str; 6] = ["tokio", "tokio-util", "rustix", "mio", "socket2", "libc"];

/// Names of the dependencies in the tables called `tables`, those for one platform only included.
fn dependencies(manifest: &toml::Table, tables: &[&str]) -> BTreeSet<String> {
    let platforms =
        manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(|target| target.values());
    let parts = std::iter::once(manifest).chain(platforms.filter_map(toml::Value::as_table));
    let found = parts.flat_map(|part| tables.iter().filter_map(|name| part.get(*name)?.as_table()));
    let packages = found.flatten().map(|(name, value)| {
        let renamed = value.get("package").and_then(toml::Value::as_str);
        renamed.unwrap_or(name).to_owned()
    });
    packages.collect()
}

fn complaints(manifest: &str, layer: &Layer) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let built_with = dependencies(&manifest, &["dependencies", "build-dependencies"]);
    let mut complaints = Vec::new();
    for name in built_with.iter().filter(|name| name.starts_with("pillion-")) {
        if !layer.may.contains(&name.as_str()) {
            complaints.push(format!("{} may not depend on {name}", layer.folder));
        }
    }
    let tested_with = dependencies(&manifest, &["dev-dependencies"]);
    for name in tested_with.iter().filter(|name| layer.never.contains(&name.as_str())) {
        complaints.push(format!("{} may not depend on {name}, not even in tests", layer.folder));
    }
    if layer.folder.starts_with("wire") {
        for name in built_with.iter().filter(|name| WIRE_NEVER.contains(&name.as_str())) {
            complaints.push(format!("{} does no I/O and may not depend on {name}", layer.folder));
        }
    }
    complaints
}

#[test]
fn crates_depend_only_downwards() {
    let read = |folder: &str| fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let found = LAYERS.iter().flat_map(|layer| complaints(&read(layer.folder), layer)).collect::<Vec<_>>();
    assert_none(&found);
}

#[test]
fn every_crate_has_a_layer() {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    for member in members.iter().filter_map(toml::Value::as_str).filter(|member| !member.starts_with("tests")) {
        assert!(LAYERS.iter().any(|layer| layer.folder == member), "{member} has no layer: say what it may depend on");
    }
}

#[test]
fn a_dependency_upwards_is_found() {
    let layer = |folder: &str| LAYERS.iter().find(|layer| layer.folder == folder).unwrap();
    for (folder, manifest) in [
        ("cdc", "[dependencies]\npillion-broker.workspace = true"),
        ("cdc", "[dependencies]\nlog = { package = \"pillion-broker\", path = \"../broker\" }"),
        ("cdc", "[dev-dependencies]\npillion-broker.workspace = true"),
        ("broker", "[target.'cfg(unix)'.dependencies]\npillion-cdc.workspace = true"),
        ("broker", "[build-dependencies]\npillion-client.workspace = true"),
        ("wire", "[dependencies]\ntokio = \"1\""),
        ("examples/saga", "[dependencies]\npillion-trace-context.workspace = true"),
        ("examples/saga", "[dev-dependencies]\npillion-client.workspace = true"),
    ] {
        assert_eq!(complaints(manifest, layer(folder)).len(), 1, "{folder}: {manifest}");
    }
    assert!(complaints("[dev-dependencies]\ntokio = \"1\"", layer("wire")).is_empty());
    assert!(complaints("[dependencies]\npillion-client.workspace = true", layer("cdc")).is_empty());
}
