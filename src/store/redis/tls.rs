//! TLS: whom a server has to be, and who we are to it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore};
use rustls::{Error, SignatureScheme};

use super::dsn::Tls;

/// Reads the files of a DSN. Files change while a worker lives, so this is done
/// again after a handshake that failed.
///
/// # Errors
/// In words: which file, and what is wrong with it.
pub fn configure(tls: &Tls) -> Result<Arc<ClientConfig>, String> {
    // Given to each configuration: nothing is set for the whole process, which
    // may have other users of the library in it.
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = if tls.verify {
        builder.with_root_certificates(authorities(tls.ca.as_deref())?)
    } else {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
    };
    let mut config = match &tls.certificate {
        None if tls.key.is_some() => return Err("key= without cert=".into()),
        None => builder.with_no_client_auth(),
        Some(file) => {
            let chain = certificates(file)?;
            let key_file = tls.key.as_ref().unwrap_or(file);
            let key = PrivateKeyDer::from_pem_file(key_file)
                .map_err(|error| format!("no key in {}: {error}", key_file.display()))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| format!("{} does not serve: {error}", file.display()))?
        }
    };
    // One server, or a few nodes.
    config.resumption = Resumption::in_memory_sessions(8);
    Ok(Arc::new(config))
}

/// A connection that has not said anything yet.
///
/// # Errors
/// Where the name is none that a certificate can be for.
pub fn connection(config: Arc<ClientConfig>, name: &str) -> io::Result<ClientConnection> {
    let name = ServerName::try_from(name.to_owned())
        .map_err(|_| io::Error::other(format!("no certificate can be for \"{name}\"")))?;
    ClientConnection::new(config, name).map_err(io::Error::other)
}

fn authorities(ca: Option<&Path>) -> Result<RootCertStore, String> {
    let (found, place) = match ca {
        Some(file) => (certificates(file)?, file.display().to_string()),
        None => (
            rustls_native_certs::load_native_certs().certs,
            "the system; install ca-certificates, or name a file with ca=".into(),
        ),
    };
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found);
    if usable == 0 {
        return Err(format!("no certificate of an authority in {place}"));
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| format!("no certificates in {}: {error}", file.display()))
}

/// `verify=no`: takes any certificate. That its key signed the handshake is
/// looked at nevertheless.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
