//! Certificates: whether their files exist, can be read and belong together.

use super::Sink;
use crate::config::{Fault, value::At, written};
use proxy::listen::{CertificateFiles, TlsError, TlsStore};
use std::{fs::File, ops::Range, path::PathBuf, slice, sync::Arc};

const READABLE: &str = "name a PEM file that Larder may read";

/// Returns the files of one certificate, if they are in order. `span` is the listener's place. The first certificate of
/// the list is also sent to clients that ask for another name.
pub(super) fn read(
    (written, is_first): (&written::Certificate, bool),
    span: &Range<usize>,
    sink: &mut Sink<'_>,
) -> Option<CertificateFiles> {
    let (chain, key) = both(written, span, sink)?;
    // Looks for both before it reads either, so that two missing files are two faults.
    let there = [chain, key].map(|file| is_there(file, sink));
    if there.contains(&false) {
        return None;
    }
    let files = CertificateFiles {
        chain: chain.value.clone(),
        key: key.value.clone(),
    };
    match TlsStore::load(slice::from_ref(&files)) {
        Ok(store) if !is_first && !store.is_for_a_name() => {
            let shown = chain.value.display();
            let what = format!("the certificate in {shown} names no host, and would never be sent");
            let fault = Fault::at(&chain.span, what);
            sink.push(
                fault.instead("have it issued with its hosts as `subjectAltName`, or put it first"),
            );
            None
        }
        Ok(_) => Some(files),
        Err(error) => {
            let in_key = match &error {
                TlsError::File { path, .. } | TlsError::Der(path) => *path == key.value,
                TlsError::None
                | TlsError::NoCertificate(_)
                | TlsError::KeyForCertificate(_)
                | TlsError::Setup(_) => false,
                TlsError::CertificateForKey(_)
                | TlsError::Encrypted(_)
                | TlsError::UnknownKey(_)
                | TlsError::Mismatch(_)
                | TlsError::Unusable { .. } => true,
            };
            let place = if in_key { key } else { chain };
            sink.push(Fault::at(&place.span, error.to_string()).instead(mended(&error, in_key)));
            None
        }
    }
}

/// Reads the certificates of one listener together; each is in order by itself. `None` if there are none.
pub(super) fn all(
    files: &[CertificateFiles],
    span: &Range<usize>,
    sink: &mut Sink<'_>,
) -> Option<Arc<TlsStore>> {
    if files.is_empty() {
        return None;
    }
    let read = TlsStore::load(files);
    // They were read a moment ago, and have changed since.
    let told = |error: TlsError| sink.push(Fault::at(span, error.to_string()).instead(READABLE));
    read.map_err(told).ok()
}

/// Returns what to do about a certificate or key that cannot be used.
fn mended(error: &TlsError, in_key: bool) -> String {
    match error {
        TlsError::Der(path) => {
            let command = if in_key { "pkey" } else { "x509" };
            let path = path.display();
            format!("write it as PEM: `openssl {command} -inform der -in {path} -out {path}.pem`")
        }
        TlsError::Encrypted(path) => {
            let path = path.display();
            format!("write it without its passphrase: `openssl pkey -in {path} -out {path}.plain`")
        }
        TlsError::UnknownKey(_) => "use a certificate for a key of one of these kinds".to_owned(),
        TlsError::Mismatch(_) => {
            "name the key of this certificate; the first certificate in the file must be the site's own"
                .to_owned()
        }
        TlsError::KeyForCertificate(_) | TlsError::CertificateForKey(_) => {
            "name the certificate in `certificate`, its private key in `key`".to_owned()
        }
        TlsError::None
        | TlsError::File { .. }
        | TlsError::NoCertificate(_)
        | TlsError::Unusable { .. }
        | TlsError::Setup(_) => READABLE.to_owned(),
    }
}

/// Returns certificate and key, if both are written.
fn both<'a>(
    written: &'a written::Certificate,
    span: &Range<usize>,
    sink: &mut Sink<'_>,
) -> Option<(&'a At<PathBuf>, &'a At<PathBuf>)> {
    let fault = match (&written.certificate, &written.key) {
        (Some(chain), Some(key)) => return Some((chain, key)),
        (None, Some(At { span, .. })) => Fault::at(span, "a key without its certificate")
            .instead("add `certificate = \"/etc/larder/site.pem\"`"),
        (Some(At { span, .. }), None) => Fault::at(span, "a certificate without its key")
            .instead("add `key = \"/etc/larder/site.key\"`"),
        (None, None) => Fault::at(span, "TLS without a certificate")
            .instead("write `tls = [{ certificate = \"site.pem\", key = \"site.key\" }]`"),
    };
    sink.missing(&["certificate", "key"], fault);
    None
}

fn is_there(file: &At<PathBuf>, sink: &mut Sink<'_>) -> bool {
    let Err(error) = File::open(&file.value) else {
        return true;
    };
    let what = match file.value.display().to_string().as_str() {
        "" => "the path is empty".to_owned(),
        path => format!("cannot read {path}: {error}"),
    };
    sink.push(Fault::at(&file.span, what).instead(READABLE));
    false
}
