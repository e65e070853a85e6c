//! The fuzzer itself: libFuzzer's main around the target that the environment's `FUZZ_TARGET` names. Without one, it
//! lists the targets and ends; where `FUZZ_SEEDS` names a folder, it writes each target's seeds to `FOLDER/TARGET/`.

#![no_main]

use std::path::Path;
use std::sync::LazyLock;
use std::{env, fs, process};

use libfuzzer_sys::fuzz_target;
use pillion_fuzz::{Target, targets};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let Ok(name) = env::var("FUZZ_TARGET") else { list() };
    let found = targets().into_iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("there is no target {name:?}: without FUZZ_TARGET they are listed"))
});

fn list() -> ! {
    let folder = env::var_os("FUZZ_SEEDS");
    for target in targets() {
        println!("{}", target.name);
        if let Some(folder) = &folder {
            write_seeds(&Path::new(folder).join(&target.name), &target.seeds);
        }
    }
    process::exit(0)
}

fn write_seeds(folder: &Path, seeds: &[Vec<u8>]) {
    fs::create_dir_all(folder).expect("the folder for seeds can be made");
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(folder.join(format!("seed-{number}")), seed).expect("a seed can be written");
    }
}

fuzz_target!(init: { LazyLock::force(&TARGET); }, |bytes: &[u8]| (TARGET.run)(bytes));
