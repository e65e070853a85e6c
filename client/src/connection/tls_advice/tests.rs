use std::io::{self, ErrorKind};

use rustls::{AlertDescription, CertificateError, Error};

use super::TlsAdvice;

fn advice(error: Error) -> TlsAdvice {
    TlsAdvice::of(&io::Error::new(ErrorKind::InvalidData, error))
}

#[test]
fn each_failure_names_the_setting_that_helps() {
    for (error, setting) in [
        (Error::InvalidCertificate(CertificateError::UnknownIssuer), "ssl.ca.location"),
        (Error::InvalidCertificate(CertificateError::NotValidForName), "ssl.endpoint.identification.algorithm"),
        (Error::AlertReceived(AlertDescription::CertificateRequired), "ssl.certificate.location"),
        (Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType), "security.protocol"),
    ] {
        let advice = advice(error);
        assert!(advice.text.contains(setting) && advice.lasts, "{advice:?}");
    }
}

#[test]
fn broker_that_only_closes_may_come_back() {
    let advice = TlsAdvice::of(&ErrorKind::UnexpectedEof.into());
    assert!(!advice.lasts && advice.text.contains("security.protocol"), "{advice:?}");
}
