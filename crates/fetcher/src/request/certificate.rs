//! TLS for strangers: every certificate is accepted, and what is wrong with it is recorded.
//!
//! Nothing secret is sent and every byte that comes back is validated as an image, so a faulty
//! certificate costs an icon nothing; a handshake that does not happen is an outcome elsewhere.
//! Must not know: sockets, HTTP.

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

/// What was found about a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certificate {
    /// A known root vouches for it, for this name, now.
    Verified,
    /// Its time is over, or has not begun.
    Expired,
    /// It vouches for itself.
    SelfSigned,
    /// It is another name's.
    WrongName,
    /// Nobody known vouches for it.
    UnknownIssuer,
    /// Another fault.
    Faulty,
}

impl Certificate {
    /// The stable name, snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Certificate::Verified => "verified",
            Certificate::Expired => "expired",
            Certificate::SelfSigned => "self_signed",
            Certificate::WrongName => "wrong_name",
            Certificate::UnknownIssuer => "unknown_issuer",
            Certificate::Faulty => "faulty",
        }
    }
}

/// The client configuration of all connections, and the judge of their certificates.
pub(crate) struct Trust {
    pub(crate) config: Arc<ClientConfig>,
    judge: Option<Arc<WebPkiServerVerifier>>,
}

impl Trust {
    /// The machine's roots and those of `ca_file` (PEM). Errors: a line naming the file. A machine
    /// without roots is no error: its certificates are recorded as of unknown issuer.
    pub(crate) fn new(ca_file: Option<&Path>) -> Result<Trust, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = ca_file {
            let wrong = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
            let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect)
                .map_err(|e| wrong(&e))?;
            if roots.add_parsable_certificates(certificates).0 == 0 {
                return Err(wrong(&"no certificate in it (PEM expected)"));
            }
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let judge =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .ok();
        let accept = Arc::new(AcceptAndLookLater { provider: Arc::clone(&provider) });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| format!("TLS: {e}"))?
            .dangerous()
            .with_custom_certificate_verifier(accept)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Trust { config: Arc::new(config), judge })
    }

    /// What there is to say about the certificates that `name` showed.
    pub(crate) fn look(
        &self,
        name: &ServerName<'_>,
        shown: Option<&[CertificateDer<'_>]>,
    ) -> Certificate {
        let Some((own, chain)) = shown.and_then(<[_]>::split_first) else {
            return Certificate::Faulty;
        };
        let Some(judge) = &self.judge else {
            return issuer_unknown(own);
        };
        match judge.verify_server_cert(own, chain, name, &[], UnixTime::now()) {
            Ok(_) => Certificate::Verified,
            Err(Error::InvalidCertificate(fault)) => match fault {
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. } => Certificate::Expired,
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => Certificate::WrongName,
                CertificateError::UnknownIssuer => issuer_unknown(own),
                // A self-signed root used as a server's own certificate.
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

/// Whether issuer and subject are the same name (RFC 5280, 4.1: Certificate, TBSCertificate).
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

/// The first DER element of `bytes`: its tag, its content, and what follows it.
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

#[derive(Debug)]
struct AcceptAndLookLater {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AcceptAndLookLater {
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
    fn what_is_wrong_with_a_certificate_is_told_apart() {
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
        let look = |name: &str, der: &CertificateDer<'_>| {
            trust.look(&named(name), Some(std::slice::from_ref(der)))
        };
        assert_eq!(look("a.test", good.der()), Certificate::Verified);
        assert_eq!(look("b.test", good.der()), Certificate::WrongName);
        let own = leaf.self_signed(&key).expect("signed");
        assert_eq!(look("a.test", own.der()), Certificate::SelfSigned);
        leaf.not_after = rcgen::date_time_ymd(2001, 1, 1);
        leaf.not_before = rcgen::date_time_ymd(2000, 1, 1);
        let old = leaf.signed_by(&key, &issuer).expect("signed");
        assert_eq!(look("a.test", old.der()), Certificate::Expired);
        let strangers = Trust::new(None).expect("the machine's roots");
        assert_eq!(
            strangers.look(&named("a.test"), Some(std::slice::from_ref(good.der()))),
            Certificate::UnknownIssuer
        );
        assert_eq!(strangers.look(&named("a.test"), None), Certificate::Faulty);
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_at_without_a_panic(bytes: Vec<u8>) {
            let _ = is_self_signed(&bytes);
        }
    }
}
