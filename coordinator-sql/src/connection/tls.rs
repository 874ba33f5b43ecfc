//! TLS to Postgres: which server certificates are accepted for each `sslmode`.
//!
//! `prefer` and `require` encrypt without verification, as libpq does without a root certificate
//! file.

use std::{fs, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
};

use crate::connection::database_url::{TlsSettings, TlsVerification};

/// The error says why a certificate file cannot be used.
pub(super) fn client_config(settings: &TlsSettings) -> Result<ClientConfig, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    if let Some(path) = &settings.root_certificates {
        // The file is read even if no certificate is verified, because a missing file means that
        // its name is wrong.
        certificates(path)?;
    }
    let verifier: Arc<dyn ServerCertVerifier> = match settings.verification {
        TlsVerification::None => Arc::new(AnyCertificate(Arc::clone(&provider))),
        TlsVerification::Authority => Arc::new(AnyHostname(authorities(settings, &provider)?)),
        TlsVerification::Hostname => authorities(settings, &provider)?,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match (&settings.client_certificate, &settings.client_key) {
        (None, None) => Ok(config.with_no_client_auth()),
        (Some(certificate), Some(key)) => {
            let pem = read(key)?;
            let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|e| format!("{key}: {e}"))?;
            config
                .with_client_auth_cert(certificates(certificate)?, key)
                .map_err(|error| format!("{certificate}: {error}"))
        }
        _ => Err("sslcert and sslkey must be given together".into()),
    }
}

fn authorities(
    settings: &TlsSettings,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = &settings.root_certificates {
        for certificate in certificates(path)? {
            roots.add(certificate).map_err(|error| format!("{path}: {error}"))?;
        }
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| format!("no CA certificate can be used: {error}; set sslrootcert"))
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = read(path)?;
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates = parsed.map_err(|error| format!("{path}: {error}"))?;
    if certificates.is_empty() {
        Err(format!("{path} contains no certificate"))
    } else {
        Ok(certificates)
    }
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{path}: {error}"))
}

/// Accepts any certificate if the server proves that it has the private key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _hostname: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Accepts a certificate for any hostname if a trusted authority issued it.
#[derive(Debug)]
struct AnyHostname(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyHostname {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        hostname: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        match self.0.verify_server_cert(certificate, intermediates, hostname, ocsp, now) {
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_authorities_must_exist_even_if_nothing_is_verified() {
        for verification in
            [TlsVerification::None, TlsVerification::Authority, TlsVerification::Hostname]
        {
            let settings = TlsSettings {
                verification,
                root_certificates: Some("/nowhere/ca.pem".to_owned()),
                ..TlsSettings::default()
            };
            let reason = client_config(&settings).unwrap_err();
            assert!(reason.starts_with("/nowhere/ca.pem: "), "{reason}");
        }
    }
}
