//! Whether this machine is about to be taken away: EC2's spot notice and the state that its Auto
//! Scaling group wants it in, by instance metadata version 2 (a token first, then questions).
//!
//! It only ever asks for a drain, as a signal does; it delays nothing and decides nothing. Where
//! the machine is none of EC2's, nothing is asked of anybody. Must not know: leases, jobs.
//! Source: "Spot Instance interruption notices" (poll every 5 seconds) and "Retrieve the target
//! lifecycle state through instance metadata" of the AWS guides.

use std::{
    path::Path,
    str::FromStr,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use url::Url;

/// What AWS advises.
const POLL: Duration = Duration::from_secs(5);
/// The service is on the machine itself: an answer takes milliseconds.
const ANSWER_TIME: Duration = Duration::from_secs(2);
/// Life of a token; it is used for half of that.
const TOKEN_TIME: Duration = Duration::from_secs(300);
const MAX_ANSWER_BYTES: usize = 16 * 1024;
const SERVICE: &str = "http://169.254.169.254";
const SPOT: &str = "/latest/meta-data/spot/instance-action";
const LIFECYCLE: &str = "/latest/meta-data/autoscaling/target-lifecycle-state";

/// Where the instance metadata service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceMetadata {
    /// Where the firmware says that this is EC2, at its usual address; else nowhere.
    Auto,
    /// Not asked.
    Off,
    /// There.
    At(Url),
}

impl FromStr for InstanceMetadata {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => endpoint(text).map(Self::At),
        }
    }
}

fn endpoint(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "http" && url.has_host());
    url.ok_or_else(|| format!("{text:?} is not auto, off or http://HOST[:PORT]"))
}

impl InstanceMetadata {
    /// Where to ask, by this setting and the variables that AWS's own programs obey.
    ///
    /// # Errors
    /// `AWS_EC2_METADATA_SERVICE_ENDPOINT` is no URL.
    pub fn endpoint(&self) -> Result<Option<Url>, String> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_disabled = variable("AWS_EC2_METADATA_DISABLED")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"));
        match self {
            Self::Off => Ok(None),
            Self::At(url) => Ok(Some(url.clone())),
            Self::Auto if is_disabled => Ok(None),
            Self::Auto => match variable("AWS_EC2_METADATA_SERVICE_ENDPOINT") {
                Some(text) => endpoint(&text)
                    .map(Some)
                    .map_err(|reason| format!("AWS_EC2_METADATA_SERVICE_ENDPOINT: {reason}")),
                None if is_ec2(Path::new("/sys/class/dmi/id")) => endpoint(SERVICE).map(Some),
                None => Ok(None),
            },
        }
    }
}

/// Whether the firmware names Amazon: Nitro machines as their maker, Xen ones in a version.
fn is_ec2(firmware: &Path) -> bool {
    ["sys_vendor", "bios_vendor", "bios_version"].iter().any(|name| {
        std::fs::read_to_string(firmware.join(name))
            .is_ok_and(|text| text.to_ascii_lowercase().contains("amazon"))
    })
}

/// Waits until the machine is to be taken away; answers why, for the log. A service that does not
/// answer is asked again, and named once.
pub async fn wait_for_notice(endpoint: Url) -> String {
    let mut service = Service { endpoint, token: None };
    let mut was_reached = true;
    let mut said = String::new();
    loop {
        match service.look().await {
            Ok(Sight::Leave(why)) => return why,
            Ok(Sight::Stay) => was_reached = true,
            Ok(Sight::Unknown(what)) => {
                if said != what {
                    tracing::warn!("instance metadata is not understood, going on: {what}");
                    said = what;
                }
            }
            Err(trouble) => {
                if was_reached {
                    tracing::warn!(
                        "instance metadata cannot be read at {}: {trouble}; a notice that this \
                         machine goes would not be seen (--instance-metadata off: do not ask)",
                        service.endpoint
                    );
                }
                was_reached = false;
            }
        }
        tokio::time::sleep(POLL).await;
    }
}

/// What the service says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sight {
    Stay,
    Leave(String),
    Unknown(String),
}

#[derive(Deserialize)]
struct SpotNotice {
    action: String,
    time: Option<String>,
}

fn understand_spot(body: &str) -> Sight {
    match serde_json::from_str::<SpotNotice>(body) {
        Ok(SpotNotice { action, time })
            if matches!(action.as_str(), "terminate" | "stop" | "hibernate") =>
        {
            let time = time.map(|time| format!(" at {time}")).unwrap_or_default();
            Sight::Leave(format!("spot notice: EC2 will {action} this instance{time}"))
        }
        _ => Sight::Unknown(format!("spot/instance-action says {body:?}")),
    }
}

fn understand_lifecycle(body: &str) -> Sight {
    match body.trim() {
        "InService" => Sight::Stay,
        state @ ("Terminated" | "Detached" | "Standby" | "Warmed:Hibernated" | "Warmed:Running"
        | "Warmed:Stopped" | "Warmed:Terminated") => {
            Sight::Leave(format!("the Auto Scaling group wants this instance {state}"))
        }
        state => Sight::Unknown(format!("autoscaling/target-lifecycle-state says {state:?}")),
    }
}

struct Service {
    endpoint: Url,
    token: Option<(String, Instant)>,
}

impl Service {
    async fn look(&mut self) -> Result<Sight, String> {
        let mut sight = Sight::Stay;
        for (path, understand) in
            [(SPOT, understand_spot as fn(&str) -> Sight), (LIFECYCLE, understand_lifecycle)]
        {
            match self.get(path).await?.as_deref().map_or(Sight::Stay, understand) {
                Sight::Stay => {}
                Sight::Leave(why) => return Ok(Sight::Leave(why)),
                unknown => sight = unknown,
            }
        }
        Ok(sight)
    }

    /// One item, if there is such a one. A token that is refused is replaced once.
    async fn get(&mut self, path: &str) -> Result<Option<String>, String> {
        for _ in 0..2 {
            let token = self.token().await?;
            let header = ("x-aws-ec2-metadata-token", token);
            match self.ask(Method::GET, path, header).await? {
                (StatusCode::OK, body) => return Ok(Some(body)),
                (StatusCode::NOT_FOUND, _) => return Ok(None),
                (StatusCode::UNAUTHORIZED, _) => self.token = None,
                (status, _) => return Err(format!("{path}: {status}")),
            }
        }
        Err(format!("{path}: a fresh token is refused"))
    }

    async fn token(&mut self) -> Result<String, String> {
        if let Some((token, since)) = &self.token
            && since.elapsed() < TOKEN_TIME / 2
        {
            return Ok(token.clone());
        }
        let seconds = TOKEN_TIME.as_secs().to_string();
        let header = ("x-aws-ec2-metadata-token-ttl-seconds", seconds);
        match self.ask(Method::PUT, "/latest/api/token", header).await? {
            (StatusCode::OK, token) => {
                self.token = Some((token.clone(), Instant::now()));
                Ok(token)
            }
            (status, _) => Err(format!("no token: {status}")),
        }
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        header: (&str, String),
    ) -> Result<(StatusCode, String), String> {
        let asking = ask(&self.endpoint, method, path, header);
        match tokio::time::timeout(ANSWER_TIME, asking).await {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_) => Err(format!("{path}: no answer in {} s", ANSWER_TIME.as_secs())),
        }
    }
}

/// One request on a connection of its own; no proxy is ever asked.
async fn ask(
    endpoint: &Url,
    method: Method,
    path: &str,
    (name, value): (&str, String),
) -> Result<(StatusCode, String), Box<dyn std::error::Error + Send + Sync>> {
    let addresses = endpoint.socket_addrs(|| None)?;
    let stream = TcpStream::connect(addresses.as_slice()).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let host = endpoint.authority();
    let request = Request::builder().method(method).uri(path).header("host", host);
    let response =
        sender.send_request(request.header(name, value).body(Empty::<Bytes>::new())?).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await?.to_bytes();
    connection.abort();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_and_every_state_but_in_service_mean_leaving_and_nonsense_does_not() {
        let spot = understand_spot(r#"{"action": "stop", "time": "2017-09-18T08:22:00Z"}"#);
        let why = "spot notice: EC2 will stop this instance at 2017-09-18T08:22:00Z";
        assert_eq!(spot, Sight::Leave(why.to_owned()));
        for action in ["terminate", "hibernate"] {
            let body = format!(r#"{{"action":"{action}"}}"#);
            assert!(matches!(understand_spot(&body), Sight::Leave(_)), "{body}");
        }
        for body in ["", "{}", "<html>", r#"{"action":"dance"}"#, "null", r#"{"action":7}"#] {
            assert!(matches!(understand_spot(body), Sight::Unknown(_)), "{body}");
        }
        assert_eq!(understand_lifecycle("InService\n"), Sight::Stay);
        for state in ["Terminated", "Detached", "Standby", "Warmed:Stopped", "Warmed:Terminated"] {
            assert!(matches!(understand_lifecycle(state), Sight::Leave(_)), "{state}");
        }
        for state in ["", "<html>", "inservice"] {
            assert!(matches!(understand_lifecycle(state), Sight::Unknown(_)), "{state}");
        }
    }

    #[test]
    fn the_setting_is_a_word_or_an_address() {
        assert_eq!("auto".parse(), Ok(InstanceMetadata::Auto));
        assert_eq!("off".parse(), Ok(InstanceMetadata::Off));
        let url = Url::parse("http://[fd00:ec2::254]/").expect("a URL");
        assert_eq!("http://[fd00:ec2::254]".parse(), Ok(InstanceMetadata::At(url)));
        for bad in ["", "on", "169.254.169.254", "https://x", "http://", "file:///x"] {
            assert!(bad.parse::<InstanceMetadata>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_firmware_that_names_amazon_is_ec2() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(!is_ec2(folder.path()));
        std::fs::write(folder.path().join("sys_vendor"), "QEMU\n").expect("written");
        assert!(!is_ec2(folder.path()));
        std::fs::write(folder.path().join("bios_version"), "4.11.amazon\n").expect("written");
        assert!(is_ec2(folder.path()));
    }
}
