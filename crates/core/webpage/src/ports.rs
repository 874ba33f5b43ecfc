//! Lists of ports that may be requested, because a crawler should not reach services on other
//! ports.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Ports that are requested by default.
pub const DEFAULT_PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// Maximum ports in a list. A list with more is rejected. A site uses two or three.
pub const MAX_PORTS: usize = 64;

/// Ports that are never requested, ascending: the Fetch standard's bad ports
/// (<https://fetch.spec.whatwg.org/#port-blocking>).
const BAD_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// Returns true if a port is never requested, whatever a list contains.
#[must_use]
pub fn is_bad_port(port: u16) -> bool {
    BAD_PORTS.binary_search(&port).is_ok()
}

/// Why a port list is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PortListError {
    /// This item is not a port.
    #[error("{0:?} is not a port; give a list such as 80,443,8080")]
    NotAPort(String),
    /// This port belongs to another protocol.
    #[error("port {0} is never requested: it is a bad port of the Fetch standard")]
    Bad(u16),
    /// The list is empty, or has more than [`MAX_PORTS`].
    #[error("{0} ports; a list must have 1 to {MAX_PORTS}")]
    Number(usize),
}

/// Ports that may be requested: at least one, at most [`MAX_PORTS`], and no bad port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u16>", into = "Vec<u16>")]
pub struct PortList(Vec<u16>);

impl Default for PortList {
    fn default() -> Self {
        Self(DEFAULT_PORTS.to_vec())
    }
}

impl PortList {
    /// Creates a list in ascending order, without repetitions.
    ///
    /// # Errors
    /// Returns an error if a port is bad, or if the list is empty or too long.
    pub fn new(ports: impl IntoIterator<Item = u16>) -> Result<Self, PortListError> {
        let mut ports: Vec<u16> = ports.into_iter().collect();
        ports.sort_unstable();
        ports.dedup();
        if let Some(bad) = ports.iter().copied().find(|port| is_bad_port(*port)) {
            return Err(PortListError::Bad(bad));
        }
        match ports.len() {
            1..=MAX_PORTS => Ok(Self(ports)),
            number => Err(PortListError::Number(number)),
        }
    }

    /// Returns true if this port may be requested.
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        self.0.binary_search(&port).is_ok()
    }

    /// Returns the ports in ascending order.
    #[must_use]
    pub fn as_slice(&self) -> &[u16] {
        &self.0
    }

    /// Returns the union with another list. This union may have more than [`MAX_PORTS`] ports.
    #[must_use]
    pub fn with(&self, more: Option<&Self>) -> Self {
        let mut ports: Vec<u16> =
            self.0.iter().chain(more.map_or(&[][..], |m| &m.0)).copied().collect();
        ports.sort_unstable();
        ports.dedup();
        Self(ports)
    }
}

impl TryFrom<Vec<u16>> for PortList {
    type Error = PortListError;

    fn try_from(ports: Vec<u16>) -> Result<Self, PortListError> {
        Self::new(ports)
    }
}

impl From<PortList> for Vec<u16> {
    fn from(list: PortList) -> Self {
        list.0
    }
}

impl FromStr for PortList {
    type Err = PortListError;

    fn from_str(text: &str) -> Result<Self, PortListError> {
        let ports = text.split(',').map(|port| {
            let port = port.trim();
            port.parse().map_err(|_| PortListError::NotAPort(port.to_owned()))
        });
        Self::new(ports.collect::<Result<Vec<u16>, _>>()?)
    }
}

impl fmt::Display for PortList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(u16::to_string).collect();
        formatter.write_str(&texts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_sorted_and_round_trips() {
        let list: PortList = "8443, 80,443,80".parse().unwrap();
        assert_eq!(
            (list.to_string().as_str(), list.as_slice()),
            ("80,443,8443", &[80, 443, 8443][..])
        );
        assert!(list.contains(8443) && !list.contains(8080));
        let more = PortList::new([8081, 80]).unwrap();
        assert_eq!(list.with(Some(&more)).to_string(), "80,443,8081,8443");
        assert_eq!(list.with(None), list);
        assert_eq!(PortList::default().as_slice(), DEFAULT_PORTS);
        assert_eq!(serde_json::to_string(&list).unwrap(), "[80,443,8443]");
        assert!(serde_json::from_str::<PortList>("[80,25]").is_err());
    }

    #[test]
    fn a_list_rejects_invalid_and_bad_ports() {
        let error = |text: &str| text.parse::<PortList>().unwrap_err().to_string();
        for text in ["", "80,", "http", "-1", "65536", "80 443"] {
            assert!(error(text).contains("is not a port"), "{text}: {}", error(text));
        }
        assert_eq!(
            error("80,22"),
            "port 22 is never requested: it is a bad port of the Fetch standard"
        );
        let many: Vec<String> = (8_000..8_065).map(|port: u16| port.to_string()).collect();
        assert_eq!(error(&many.join(",")), "65 ports; a list must have 1 to 64");
        assert_eq!(PortList::new([]), Err(PortListError::Number(0)));
    }

    #[test]
    fn bad_ports_equal_the_standards() {
        assert!(BAD_PORTS.is_sorted());
        for port in [0, 22, 25, 6_000, 6_667, 10_080] {
            assert!(is_bad_port(port), "{port}");
        }
        let good = DEFAULT_PORTS.into_iter().chain([81, 3_000, 8_000, 8_888, 9_443, 65_535]);
        for port in good {
            assert!(!is_bad_port(port), "{port}");
        }
    }
}
