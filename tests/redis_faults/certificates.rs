//! An authority of the test's own, and what it signed.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use tempfile::TempDir;

/// Files in a directory that goes with them.
pub struct Certificates {
    dir: TempDir,
}

impl Certificates {
    /// An authority, a server by the names `localhost` and 127.0.0.1, a client,
    /// and an authority that signed none of them.
    pub fn new() -> Self {
        let dir = TempDir::new().expect("a directory for certificates");
        let authority = authority();
        write(dir.path(), "ca.pem", &authority.pem());
        write(dir.path(), "other-ca.pem", &self::authority().pem());
        for (who, names) in [
            ("server", &["localhost", "127.0.0.1"][..]),
            ("client", &["app"]),
        ] {
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            let key = key();
            let mut parameters = CertificateParams::new(names).expect("names");
            parameters.distinguished_name = named(who);
            let certificate = parameters.signed_by(&key, &authority);
            let certificate = certificate.expect("a certificate");
            write(dir.path(), &format!("{who}.pem"), &certificate.pem());
            write(dir.path(), &format!("{who}.key"), &key.serialize_pem());
        }
        Self { dir }
    }

    /// The path of one of them.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Options with which a server speaks TLS on its port.
    pub fn options(&self, port: u16, clients: &str) -> Vec<String> {
        let mut options = vec!["--tls-port".into(), port.to_string()];
        for (option, value) in [
            ("--tls-cert-file", self.text("server.pem")),
            ("--tls-key-file", self.text("server.key")),
            ("--tls-ca-cert-file", self.text("ca.pem")),
            ("--tls-auth-clients", clients.into()),
        ] {
            options.extend([option.into(), value]);
        }
        options
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = named("authority");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(parameters, key()).expect("an authority")
}

fn named(name: &str) -> DistinguishedName {
    let mut whole = DistinguishedName::new();
    whole.push(DnType::CommonName, name);
    whole
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).expect("a file");
}
