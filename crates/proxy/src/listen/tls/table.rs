//! Chooses the certificate that a client is sent.

use rustls::sign::CertifiedKey;
use std::{collections::HashMap, iter, sync::Arc};

/// Certificates by the name that a client asks for (SNI): exact names first, then wildcards, else the default.
#[derive(Debug)]
pub(super) struct Table {
    /// For clients that name nothing, or a name without a certificate: the first certificate, and the others for the
    /// first of its names.
    default: Candidates,
    exact: HashMap<String, Candidates>,
    /// By what follows `*.`.
    wildcard: HashMap<String, Candidates>,
}

impl Table {
    /// Makes a table of certificates, each with the names that it is for; `None` if there are none.
    pub(super) fn new(certificates: &[(Arc<CertifiedKey>, Vec<String>)]) -> Option<Self> {
        let (first, its_names) = certificates.first()?;
        let mut table = Self {
            default: Candidates::new(first),
            exact: HashMap::new(),
            wildcard: HashMap::new(),
        };
        for (key, names) in certificates {
            for name in names {
                table.add(name, key);
            }
        }
        table.add_wildcards();
        let alike = its_names.first().and_then(|name| table.named(name));
        if let Some(alike) = alike.cloned() {
            table.default = alike;
        }
        Some(table)
    }

    /// Whether any certificate is for a name.
    pub(super) fn is_for_a_name(&self) -> bool {
        !self.exact.is_empty() || !self.wildcard.is_empty()
    }

    /// Returns the certificate for a client that asks for `name`. `is_understood` says whether the client can check a
    /// certificate's signatures. It is called only if there are several.
    pub(super) fn choose(
        &self,
        name: Option<&str>,
        is_understood: impl Fn(&CertifiedKey) -> bool,
    ) -> &Arc<CertifiedKey> {
        let named = name.and_then(|name| self.named(name));
        named.unwrap_or(&self.default).choose(is_understood)
    }

    /// The certificates for this name. A wildcard stands for exactly one label (RFC 9525 section 6.3).
    fn named(&self, name: &str) -> Option<&Candidates> {
        let name = name.to_ascii_lowercase();
        let by_wildcard = || {
            let (_, rest) = name.split_once('.')?;
            self.wildcard.get(rest)
        };
        self.exact.get(&name).or_else(by_wildcard)
    }

    /// Adds to each exact name the certificates whose wildcards cover it, for clients that do not understand its own.
    fn add_wildcards(&mut self) {
        for (name, those) in &mut self.exact {
            let wildcard = name
                .split_once('.')
                .and_then(|(_, rest)| self.wildcard.get(rest));
            if let Some(covering) = wildcard {
                those.others.extend(covering.all().cloned());
            }
        }
    }

    /// Adds a certificate under a name as the certificate has it.
    fn add(&mut self, name: &str, key: &Arc<CertifiedKey>) {
        let name = name.to_ascii_lowercase();
        let (map, name) = match name.strip_prefix("*.") {
            Some(rest) => (&mut self.wildcard, rest.to_owned()),
            None => (&mut self.exact, name),
        };
        map.entry(name)
            .and_modify(|those| those.others.push(Arc::clone(key)))
            .or_insert_with(|| Candidates::new(key));
    }
}

/// The certificates for one name, in the order of the site, those with the name itself first: one of ECDSA may come
/// before one of RSA for old clients.
#[derive(Clone, Debug)]
struct Candidates {
    first: Arc<CertifiedKey>,
    others: Vec<Arc<CertifiedKey>>,
}

impl Candidates {
    fn new(first: &Arc<CertifiedKey>) -> Self {
        Self {
            first: Arc::clone(first),
            others: Vec::new(),
        }
    }

    /// The first certificate that the client understands. If there is none, the first of all: then the handshake says
    /// why it fails.
    fn choose(&self, is_understood: impl Fn(&CertifiedKey) -> bool) -> &Arc<CertifiedKey> {
        if self.others.is_empty() {
            return &self.first;
        }
        let understood = self.all().find(|key| is_understood(key));
        understood.unwrap_or(&self.first)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<CertifiedKey>> {
        iter::once(&self.first).chain(&self.others)
    }
}
