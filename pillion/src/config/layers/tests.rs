use std::fs;

use super::*;

const BOTH: [Part; 2] = [Part::Broker, Part::Connector];

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pillion.toml");
    fs::write(&path, text).unwrap();
    (directory, path)
}

fn variables(pairs: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>().into_iter()
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let (_directory, path) = file("num.partitions = 1\nnode.id = 1\nmessage.max.bytes = 1000\n");
    let mut layers = Layers::default();
    layers.add_file(&path);
    layers.add_environment(variables(&[("PILLION_NUM_PARTITIONS", "2"), ("PILLION_NODE_ID", "2"), ("HOME", "/")]));
    layers.add_set("num.partitions=3", &BOTH);
    let settings = layers.finish().unwrap();
    let found = |key| (settings[key].value.as_str(), settings[key].origin.to_string());
    assert_eq!(found("num.partitions"), ("3", "--set num.partitions".to_owned()));
    assert_eq!(found("node.id"), ("2", "PILLION_NODE_ID".to_owned()));
    assert_eq!(found("message.max.bytes"), ("1000", path.display().to_string()));
}

#[test]
fn dotted_keys_tables_and_arrays_of_a_file_come_to_the_same_keys() {
    let (_directory, path) = file(
        "auto.create.topics.enable = false\n[table]\ninclude.list = [\"a.outbox\", \"b.outbox\"]\n[slot]\nname = \"s\"\n",
    );
    let mut layers = Layers::default();
    layers.add_file(&path);
    let settings = layers.finish().unwrap();
    assert_eq!(settings["auto.create.topics.enable"].value, "false");
    assert_eq!(settings["table.include.list"].value, "a.outbox,b.outbox");
    assert_eq!(settings["slot.name"].value, "s");
}

#[test]
fn every_problem_is_reported_with_its_origin() {
    let (_directory, path) = file("num.partitons = 1\nnode.id = 1979-05-27\n");
    let mut layers = Layers::default();
    layers.add_file(&path);
    layers.add_environment(variables(&[("PILLION_NUM_PARTITIONZ", "2")]));
    layers.add_set("node.id", &BOTH);
    layers.add_set("slot.name=x", &[Part::Broker]);
    let problems = layers.finish().unwrap_err().problems;
    let file = path.display();
    assert_eq!(
        problems,
        [
            format!("node.id ({file}): expected text, a number, true or false"),
            format!("num.partitons ({file}): unknown key; did you mean num.partitions?"),
            "PILLION_NUM_PARTITIONZ in the environment is not known; did you mean PILLION_NUM_PARTITIONS?".to_owned(),
            "--set node.id: expected key=value".to_owned(),
            "--set slot.name: this is for the outbox connector, which this command does not run".to_owned(),
        ]
    );
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let mut layers = Layers::default();
    layers.add_environment(variables(&[("PILLION_NODE_ID", ""), ("PILLION_NONSENSE", "")]));
    assert!(layers.finish().unwrap().is_empty());
}

#[test]
fn a_file_that_cannot_be_read_or_parsed_is_named() {
    let (_directory, path) = file("num.partitions = \n");
    let mut layers = Layers::default();
    layers.add_file(&path);
    layers.add_file(Path::new("/nonexistent/pillion.toml"));
    let problems = layers.finish().unwrap_err().problems;
    assert!(problems[0].starts_with(&format!("{} is not TOML", path.display())), "{problems:?}");
    assert!(problems[1].starts_with("cannot read /nonexistent/pillion.toml"), "{problems:?}");
}
