//! Certificates: an authority created at start, and a leaf certificate per hostname.

use std::{collections::HashMap, fmt, sync::Arc};

use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::{
    ServerConfig,
    crypto::{
        CryptoProvider,
        aws_lc_rs::{default_provider, sign::any_ecdsa_type},
    },
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{ClientHello, NoServerSessionStorage, ResolvesServerCert},
    sign::{CertifiedKey, SigningKey},
};

use crate::{behaviour::Behaviour, error::TestbedError};

/// Maximum number of leaves in memory. When this number is reached, all of them are dropped.
const MAX_KEPT: usize = 4_096;

pub(crate) struct Certificates {
    authority: CertifiedIssuer<'static, KeyPair>,
    leaf_key: KeyPair,
    signing_key: Arc<dyn SigningKey>,
    provider: Arc<CryptoProvider>,
    kept: Mutex<HashMap<(String, Fault), Arc<CertifiedKey>>>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Fault {
    None,
    WrongName,
    Expired,
    SelfSigned,
}

impl Certificates {
    pub(crate) fn new() -> Result<Self, TestbedError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, "Small internet authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2090, 1, 1);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        // All leaves share one key, because generating keys is slow.
        let leaf_key = KeyPair::generate()?;
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
        let signing_key = any_ecdsa_type(&der)?;
        let provider = Arc::new(default_provider());
        Ok(Self { authority, leaf_key, signing_key, provider, kept: Mutex::default() })
    }

    pub(crate) fn authority_pem(&self) -> String {
        self.authority.pem()
    }

    pub(crate) fn leaf(&self, host: &str, behaviour: Behaviour) -> Option<Arc<CertifiedKey>> {
        let fault = match behaviour {
            Behaviour::CertificateWrongName => Fault::WrongName,
            Behaviour::CertificateExpired => Fault::Expired,
            Behaviour::CertificateSelfSigned => Fault::SelfSigned,
            _ => Fault::None,
        };
        let key = (host.to_owned(), fault);
        let mut kept = self.kept.lock();
        if let Some(leaf) = kept.get(&key) {
            return Some(Arc::clone(leaf));
        }
        let leaf = Arc::new(self.make(host, fault).ok()?);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&leaf));
        Some(leaf)
    }

    pub(crate) fn server_config(
        &self,
        leaf: Arc<CertifiedKey>,
        http2: bool,
    ) -> Result<Arc<ServerConfig>, rustls::Error> {
        let mut config = self.config(Some(leaf))?;
        if http2 {
            config.alpn_protocols.push(b"h2".to_vec());
        }
        config.alpn_protocols.push(b"http/1.1".to_vec());
        Ok(Arc::new(config))
    }

    pub(crate) fn refusing_config(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
        self.config(None).map(Arc::new)
    }

    fn config(&self, leaf: Option<Arc<CertifiedKey>>) -> Result<ServerConfig, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(AtMostOneLeaf(leaf)));
        // Without session storage and tickets, no TLS session can be resumed.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    fn make(&self, host: &str, fault: Fault) -> Result<CertifiedKey, rcgen::Error> {
        let name = if fault == Fault::WrongName { "parked.example" } else { host };
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, "Small internet leaf");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = match fault {
            Fault::Expired => date_time_ymd(2021, 1, 1),
            _ => date_time_ymd(2090, 1, 1),
        };
        let leaf = if fault == Fault::SelfSigned {
            params.self_signed(&self.leaf_key)?
        } else {
            params.signed_by(&self.leaf_key, &self.authority)?
        };
        let chain = vec![leaf.der().clone()];
        Ok(CertifiedKey::new(chain, Arc::clone(&self.signing_key)))
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Certificates")
    }
}

/// Presents the leaf chosen for a connection. With `None` it presents nothing, so the handshake
/// fails.
#[derive(Debug)]
struct AtMostOneLeaf(Option<Arc<CertifiedKey>>);

impl ResolvesServerCert for AtMostOneLeaf {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.clone()
    }
}
