//! Lists the targets; given a folder it also writes each target's seeds to `FOLDER/TARGET/`.

use std::path::PathBuf;
use std::{fs, io};

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    for target in pillion_fuzz::targets() {
        println!("{}", target.name);
        let Some(folder) = &folder else { continue };
        let folder = folder.join(&target.name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in target.seeds.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
