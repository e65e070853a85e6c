use super::*;

fn read(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Settings> {
    Settings::from(arguments.iter().map(|argument| (*argument).to_owned()), |name| {
        variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn defaults_serve_a_broker_on_this_machine() {
    let settings = read(&[], &[("DATABASE_URL", "postgresql://localhost/shop")]).unwrap();
    assert_eq!(settings.bootstrap_servers, "localhost:9092");
    assert_eq!(settings.http_listen, "127.0.0.1:0");
    assert!(!settings.migrate_only);
}

#[test]
fn migrate_is_a_flag_and_others_are_refused() {
    let database = ("DATABASE_URL", "postgresql://localhost/shop");
    assert!(read(&["--migrate"], &[database]).unwrap().migrate_only);
    assert!(read(&["--migrat"], &[database]).unwrap_err().to_string().contains("--migrat"));
}

#[test]
fn missing_database_url_is_named_by_whoever_needs_one() {
    let settings = read(&[], &[]).unwrap();
    assert!(settings.required_database_url().unwrap_err().to_string().contains("DATABASE_URL"));
}

#[test]
fn workers_are_bounded() {
    assert_eq!(read(&[], &[("WORKERS", "8")]).unwrap().workers, 8);
    for wrong in ["0", "65", "many"] {
        assert!(read(&[], &[("WORKERS", wrong)]).unwrap_err().to_string().contains("WORKERS"), "{wrong}");
    }
}
