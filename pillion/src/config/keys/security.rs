//! Keys of TLS and SASL towards the cluster, for the connector and, in a properties file, for the tools.

use super::{Change, Key, Part};

/// One row; all of them take effect with the next start.
const fn key(name: &'static str, kind: &'static str, expected: &'static str, purpose: &'static str) -> Key {
    Key { name, part: Part::Connector, kind, expected, default: None, change: Change::AtStart, purpose }
}

const PEM_FILE: &str = "a PEM file";
const PEM_TEXT: &str = "PEM text";

/// The rows, in the order of the client's list.
pub(super) const KEYS: &[Key] = &[
    Key {
        default: Some("PLAINTEXT"),
        ..key(
            "security.protocol",
            "text",
            "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
            "how the connector reaches the cluster",
        )
    },
    key("sasl.mechanism", "text", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", "how the password is proved"),
    key("sasl.mechanisms", "text", "as sasl.mechanism", "librdkafka's name for sasl.mechanism"),
    key("sasl.username", "text", "a name", "who the connector is to the cluster"),
    key("sasl.password", "password", "a password", "better in a file or the environment than on a command line"),
    key("sasl.jaas.config", "password", "a JAAS line with username and password", "Java's form of the two keys above"),
    key(
        "ssl.ca.location",
        "text",
        PEM_FILE,
        "authorities that brokers' certificates must come from; default: the machine's",
    ),
    key("ssl.ca.pem", "text", PEM_TEXT, "the same as text"),
    key("ssl.truststore.location", "text", PEM_FILE, "Java's name for ssl.ca.location"),
    key("ssl.truststore.certificates", "text", PEM_TEXT, "Java's name for ssl.ca.pem"),
    key("ssl.truststore.type", "text", "PEM", "the form of the truststore"),
    key(
        "ssl.certificate.location",
        "text",
        PEM_FILE,
        "the connector's own certificate, where the cluster asks for one",
    ),
    key("ssl.certificate.pem", "text", PEM_TEXT, "the same as text"),
    key("ssl.key.location", "text", PEM_FILE, "the private key of that certificate"),
    key("ssl.key.pem", "password", PEM_TEXT, "the same as text"),
    key("ssl.keystore.location", "text", PEM_FILE, "Java's name for certificate and key in one file"),
    key("ssl.keystore.certificate.chain", "text", PEM_TEXT, "Java's name for ssl.certificate.pem"),
    key("ssl.keystore.key", "password", PEM_TEXT, "Java's name for ssl.key.pem"),
    key("ssl.keystore.type", "text", "PEM", "the form of the keystore"),
    Key {
        default: Some("https"),
        ..key(
            "ssl.endpoint.identification.algorithm",
            "text",
            "https, or nothing",
            "whether a broker's certificate must name its host; nothing turns that off",
        )
    },
];
