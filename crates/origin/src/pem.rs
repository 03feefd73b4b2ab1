//! Explains why a file of certificates or keys cannot be used, or why a certificate is not believed.

use rustls::{CertificateError, pki_types::pem};
use std::io;

/// Says what is wrong with a PEM file (RFC 7468).
pub fn in_words(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            let label = String::from_utf8_lossy(end_marker);
            format!("it is cut off: the line `-----END {label}-----` is missing")
        }
        pem::Error::IllegalSectionStart { line } => {
            let line = String::from_utf8_lossy(line);
            format!("the line `{}` is not PEM", line.trim_end())
        }
        pem::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Says why a handshake failed, where the library's own words do not.
pub(crate) fn refused(cause: io::Error) -> Box<dyn std::error::Error + Send + Sync> {
    let inner = cause.get_ref().and_then(|inner| inner.downcast_ref());
    if let Some(rustls::Error::InvalidCertificate(CertificateError::Other(other))) = inner {
        let why = other.0.to_string();
        if why == "CaUsedAsEndEntity" {
            return "its certificate is that of an authority (CA:TRUE), which proves no server: make one with CA:FALSE, as \
                    `openssl req -x509 -addext basicConstraints=critical,CA:FALSE` does"
                .into();
        }
        return format!("its certificate is not accepted: {why}").into();
    }
    cause.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::{CertificateDer, pem::PemObject};

    #[test]
    fn what_is_wrong_with_a_file_is_said_in_words() {
        for (text, words) in [
            (
                "-----BEGIN CERTIFICATE-----\nMIIB\n",
                "it is cut off: the line `-----END CERTIFICATE-----` is missing",
            ),
            (
                "-----BEGIN CERTIFICATE\nMIIB\n",
                "the line `-----BEGIN CERTIFICATE` is not PEM",
            ),
        ] {
            let error = CertificateDer::from_pem_slice(text.as_bytes()).expect_err(text);
            assert_eq!(in_words(&error), words);
        }
    }
}
