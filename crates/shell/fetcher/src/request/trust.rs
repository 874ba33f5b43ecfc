//! TLS with any server: every certificate is accepted, and its faults are recorded.
//!
//! Requests carry no secrets, so we use the content behind a faulty certificate and record the
//! fault with it. Deliveries to a receiver are confidential, so those connections verify the
//! certificate in the handshake.

use std::{path::Path, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};

use crate::{certificate::Certificate, settings::SettingsError};

pub(crate) struct Trust {
    pub(crate) config: Arc<ClientConfig>,
    verifier: Option<Arc<WebPkiServerVerifier>>,
    /// For HTTP/1.1 with verified certificates. `None` on a system without root certificates.
    pub(crate) verified: Option<Arc<ClientConfig>>,
}

impl Trust {
    /// Loads the system's root certificates and those in `ca_file` (PEM). Without any, the issuer
    /// of every certificate is unknown.
    pub(crate) fn new(ca_file: Option<&Path>) -> Result<Self, SettingsError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = ca_file {
            let wrong = |what: &dyn std::fmt::Display| {
                SettingsError::CaFile(format!("{}: {what}", path.display()))
            };
            let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect)
                .map_err(|e| wrong(&e))?;
            if roots.add_parsable_certificates(certificates).0 == 0 {
                return Err(wrong(&"no valid certificate found; expected PEM"));
            }
        }
        let of_tls = |error: Error| SettingsError::System(format!("TLS: {error}"));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .ok();
        let verified = verifier.as_ref().map(|verifier| {
            let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
            let versions = builder.with_safe_default_protocol_versions();
            let verifier = Arc::clone(verifier);
            versions.map(|builder| builder.with_webpki_verifier(verifier).with_no_client_auth())
        });
        let mut verified = verified.transpose().map_err(of_tls)?;
        if let Some(config) = &mut verified {
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
        }
        let accept = Arc::new(AnyHandshake { provider: Arc::clone(&provider) });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(of_tls)?
            .dangerous()
            .with_custom_certificate_verifier(accept)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), verifier, verified: verified.map(Arc::new) })
    }

    pub(crate) fn examine(
        &self,
        name: &ServerName<'_>,
        presented: Option<&[CertificateDer<'_>]>,
    ) -> Certificate {
        let Some((own, chain)) = presented.and_then(<[_]>::split_first) else {
            return Certificate::Faulty;
        };
        let Some(verifier) = &self.verifier else {
            return issuer_unknown(own);
        };
        match verifier.verify_server_cert(own, chain, name, &[], UnixTime::now()) {
            Ok(_) => Certificate::Verified,
            Err(Error::InvalidCertificate(fault)) => match fault {
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. } => Certificate::Expired,
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => Certificate::WrongName,
                CertificateError::UnknownIssuer => issuer_unknown(own),
                _ if is_self_signed(own) => Certificate::SelfSigned,
                _ => Certificate::Faulty,
            },
            Err(_) => Certificate::Faulty,
        }
    }
}

fn issuer_unknown(own: &CertificateDer<'_>) -> Certificate {
    if is_self_signed(own) { Certificate::SelfSigned } else { Certificate::UnknownIssuer }
}

/// Returns whether issuer and subject are identical (RFC 5280, 4.1).
fn is_self_signed(certificate: &[u8]) -> bool {
    issuer_and_subject(certificate).is_some_and(|(issuer, subject)| issuer == subject)
}

fn issuer_and_subject(certificate: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, outer, _) = element(certificate)?;
    let (_, mut fields, _) = element(outer)?;
    let (tag, _, after_version) = element(fields)?;
    if tag == 0xA0 {
        fields = after_version;
    }
    let (_, _, after_serial) = element(fields)?;
    let (_, _, after_algorithm) = element(after_serial)?;
    let (_, issuer, after_issuer) = element(after_algorithm)?;
    let (_, _, after_validity) = element(after_issuer)?;
    let (_, subject, _) = element(after_validity)?;
    Some((issuer, subject))
}

/// Returns the first DER element of `bytes`: its tag, its content, and the bytes after it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
        if digits.len() > 4 {
            return None;
        }
        (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Accepts every certificate and every signature during the handshake. [`Trust::examine`] checks
/// the certificate afterwards.
#[derive(Debug)]
struct AnyHandshake {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyHandshake {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(name: &str) -> ServerName<'static> {
        ServerName::try_from(name.to_owned()).expect("a name")
    }

    #[test]
    fn each_fault_of_a_certificate_has_its_own_name() {
        let authority_key = rcgen::KeyPair::generate().expect("a key");
        let mut authority = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        authority.distinguished_name.push(rcgen::DnType::CommonName, "a root");
        let root = authority.self_signed(&authority_key).expect("a root");
        let issuer = rcgen::Issuer::new(authority, authority_key);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("root.pem");
        std::fs::write(&path, root.pem()).expect("written");
        let trust = Trust::new(Some(&path)).expect("roots");
        let key = rcgen::KeyPair::generate().expect("a key");
        let mut leaf = rcgen::CertificateParams::new(vec!["a.test".to_owned()]).expect("a name");
        leaf.distinguished_name.push(rcgen::DnType::CommonName, "a leaf");
        let good = leaf.signed_by(&key, &issuer).expect("signed");
        let examine = |name: &str, der: &CertificateDer<'_>| {
            trust.examine(&named(name), Some(std::slice::from_ref(der)))
        };
        assert_eq!(examine("a.test", good.der()), Certificate::Verified);
        assert_eq!(examine("b.test", good.der()), Certificate::WrongName);
        let own = leaf.self_signed(&key).expect("signed");
        assert_eq!(examine("a.test", own.der()), Certificate::SelfSigned);
        leaf.not_after = rcgen::date_time_ymd(2001, 1, 1);
        leaf.not_before = rcgen::date_time_ymd(2000, 1, 1);
        let old = leaf.signed_by(&key, &issuer).expect("signed");
        assert_eq!(examine("a.test", old.der()), Certificate::Expired);
        let without_our_root = Trust::new(None).expect("the system's roots");
        assert_eq!(
            without_our_root.examine(&named("a.test"), Some(std::slice::from_ref(good.der()))),
            Certificate::UnknownIssuer
        );
        assert_eq!(without_our_root.examine(&named("a.test"), None), Certificate::Faulty);
    }

    proptest! {
        #[test]
        fn any_bytes_are_examined_without_a_panic(bytes: Vec<u8>) {
            let _ = is_self_signed(&bytes);
        }
    }
}
