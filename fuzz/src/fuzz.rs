//! The fuzzer itself: libFuzzer's main around the target that the environment's `FUZZ_TARGET` names.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pillion_fuzz::{Target, targets};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = targets().into_iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("there is no target {name:?}: the program `seeds` lists them"))
});

fuzz_target!(init: { LazyLock::force(&TARGET); }, |bytes: &[u8]| (TARGET.run)(bytes));
