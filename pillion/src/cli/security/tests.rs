use super::*;

#[test]
fn flags_have_the_last_word_over_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("client.properties");
    std::fs::write(&path, "security.protocol=SSL\nacks=all\nsasl.mechanism=PLAIN\n").unwrap();
    let flags = |properties: &[&str]| SecurityFlags {
        command_config: Some(path.clone()),
        command_properties: properties.iter().map(|&property| property.to_owned()).collect(),
    };
    let read = flags(&["security.protocol=SASL_SSL", "sasl.username=u", "sasl.password=hunter2"]).read().unwrap();
    assert_eq!(read.protocol().name(), "SASL_SSL");
    for wrong in ["security.protocol=TLS", "no.such.key=1", "nothing"] {
        assert!(flags(&[wrong]).read().is_err(), "{wrong}");
    }
    let error = format!("{:#}", flags(&["sasl.password=hunter2"]).read().unwrap_err());
    assert!(error.contains("sasl.") && !error.contains("hunter2"), "{error}");
}
