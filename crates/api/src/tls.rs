//! TLS with rustls. Trusts the certificates of the system and the certificates that the caller adds.

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

use crate::connection::ByteStream;
use crate::error::Error;

/// Connector for encrypted streams.
pub(crate) struct Tls(TlsConnector);

impl Tls {
    /// Creates a connector that trusts the system's certificates and the given PEM certificates.
    pub fn new(certificates: &[Vec<u8>]) -> Result<Self, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Tls(error.to_string());
        let mut roots = RootCertStore::empty();
        // System certificates that cannot be parsed are skipped.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        for certificate in certificates.iter().flat_map(|pem| CertificateDer::pem_slice_iter(pem)) {
            let certificate = certificate.map_err(|error| failed(&error))?;
            roots.add(certificate).map_err(|error| failed(&error))?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Performs the TLS handshake on a stream and verifies the certificate of the host.
    pub async fn over(&self, host: &str, stream: Box<dyn ByteStream>) -> std::io::Result<Box<dyn ByteStream>> {
        let name = ServerName::try_from(host.to_owned()).map_err(std::io::Error::other)?;
        Ok(Box::new(self.0.connect(name, stream).await?))
    }
}
