//! The ports that a key's URLs may name.
//!
//! A key's ports never change, so they are read once. An invalid key gets the default ports here,
//! and is rejected by the call that submits its URLs.

use std::{collections::HashMap, sync::Arc};

use everytab_coordinator::{ApiCaller, Coordinator};
use everytab_webpage::PortList;
use parking_lot::Mutex;

use crate::problem::{Problem, ProblemCode};

/// Maximum keys whose ports are cached. When this is reached, the cache is cleared.
const MAX_REMEMBERED: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct KeyPorts(Mutex<HashMap<[u8; 32], Arc<PortList>>>);

impl KeyPorts {
    pub(crate) async fn of(
        &self,
        coordinator: &Coordinator,
        caller: &ApiCaller,
    ) -> Result<Arc<PortList>, Problem> {
        let remembered = self.0.lock().get(&caller.secret_sha256).map(Arc::clone);
        if let Some(ports) = remembered {
            return Ok(ports);
        }
        let Some(ports) = coordinator.api_key_ports(caller).await? else {
            return Ok(Arc::default());
        };
        let ports = ports.into_iter().filter_map(|port| u16::try_from(port).ok());
        let ports = PortList::new(ports).map_err(|error| {
            tracing::error!(key = caller.key, %error, "cannot use the ports of a key");
            Problem::new(ProblemCode::Internal)
        })?;
        let ports = Arc::new(ports);
        let mut all = self.0.lock();
        if all.len() >= MAX_REMEMBERED {
            all.clear();
        }
        all.insert(caller.secret_sha256, Arc::clone(&ports));
        Ok(ports)
    }
}
