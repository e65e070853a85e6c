use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn install(directory: &Path, version_line: &str) {
    fs::create_dir_all(directory).unwrap();
    for (program, script) in
        [("postgres", format!("#!/bin/sh\necho '{version_line}'\n")), ("initdb", "#!/bin/sh\n".to_owned())]
    {
        let path = directory.join(program);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn versions_are_read_from_what_postgres_says() {
    let cases = [
        ("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n", Some((15, "15.14"))),
        ("postgres (PostgreSQL) 18beta1\n", Some((18, "18beta1"))),
        ("postgres (PostgreSQL) 9.6.24\n", Some((9, "9.6.24"))),
        ("postgres (PostgreSQL) \n", None),
        ("something else 15\n", None),
    ];
    for (said, expected) in cases {
        assert_eq!(parse_version(said), expected.map(|(major, version)| (major, version.to_owned())), "{said}");
    }
}

#[test]
fn newer_versions_order_after_older_ones() {
    assert!(version_order("17.2") > version_order("9.6.24"));
    assert!(version_order("15.14") > version_order("15.9"));
}

#[test]
fn a_directory_with_both_programs_is_usable() {
    let directory = tempfile::tempdir().unwrap();
    install(directory.path(), "postgres (PostgreSQL) 16.4");
    let binaries = Binaries::inspect(directory.path(), None).unwrap();
    assert_eq!((binaries.major, binaries.version.as_str()), (16, "16.4"));
    assert_eq!(binaries.program("initdb"), directory.path().join("initdb"));
}

#[test]
fn an_old_or_incomplete_installation_says_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let old = directory.path().join("old");
    install(&old, "postgres (PostgreSQL) 13.20");
    assert!(Binaries::inspect(&old, None).unwrap_err().to_string().contains("14 or newer is needed"));

    fs::remove_file(old.join("initdb")).unwrap();
    let error = Binaries::inspect(&old, None).unwrap_err().to_string();
    assert!(error.ends_with("holds no `initdb`"), "{error}");
}

#[test]
fn a_star_matches_within_one_component() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for path in ["postgresql@16/bin", "postgresql/bin", "mysql/bin", "postgresql@17"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    let mut found = directories_like(&format!("{}/postgresql*/bin", root.display()));
    found.sort();
    assert_eq!(found, [root.join("postgresql/bin"), root.join("postgresql@16/bin")]);
}

#[test]
fn the_source_is_auto_fetch_or_a_directory() {
    assert_eq!("auto".parse(), Ok(BinarySource::Auto));
    assert_eq!("fetch".parse(), Ok(BinarySource::Fetch));
    assert_eq!("/opt/pg".parse(), Ok(BinarySource::Directory(PathBuf::from("/opt/pg"))));
}
