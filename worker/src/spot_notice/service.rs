//! Polls the instance metadata service with the AWS SDK's client.

use std::time::Duration;

use aws_config::imds::{Client, client::error::ImdsError};
use serde::Deserialize;
use url::Url;

pub(super) const IS_BUILT_IN: bool = true;

/// Interval between polls, as AWS recommends.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Timeout for a response. The service is on the instance's physical host and responds in
/// milliseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Lifetime of the service's token.
const TOKEN_TTL: Duration = Duration::from_secs(300);
const SPOT: &str = "/latest/meta-data/spot/instance-action";
const LIFECYCLE: &str = "/latest/meta-data/autoscaling/target-lifecycle-state";
const UNAUTHORIZED: u16 = 401;
const NOT_FOUND: u16 = 404;

/// Waits for a notice, and returns its reason for the log. Logs once if the service becomes
/// unreachable, and keeps polling.
pub async fn wait_for_notice(endpoint: Url) -> String {
    let mut service = Service { endpoint, client: None };
    let mut was_reached = true;
    let mut last_unknown = String::new();
    loop {
        match service.notice().await {
            Ok(Notice::Leave(why)) => return why,
            Ok(Notice::Stay) => was_reached = true,
            Ok(Notice::Unknown(what)) => {
                if last_unknown != what {
                    tracing::warn!("unknown instance metadata, ignored: {what}");
                    last_unknown = what;
                }
            }
            Err(trouble) => {
                if was_reached {
                    tracing::warn!(
                        "cannot read instance metadata at {}: {trouble}; this worker \
                         will miss a spot notice (--instance-metadata off stops these requests)",
                        service.endpoint
                    );
                }
                was_reached = false;
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Notice {
    Stay,
    /// The worker should drain, for this reason.
    Leave(String),
    /// The service's response is not understood.
    Unknown(String),
}

#[derive(Deserialize)]
struct SpotNotice {
    action: String,
    time: Option<String>,
}

fn understand_spot(body: &str) -> Notice {
    match serde_json::from_str::<SpotNotice>(body) {
        Ok(SpotNotice { action, time })
            if matches!(action.as_str(), "terminate" | "stop" | "hibernate") =>
        {
            let time = time.map(|time| format!(" at {time}")).unwrap_or_default();
            Notice::Leave(format!("spot notice: EC2 will {action} this instance{time}"))
        }
        _ => Notice::Unknown(format!("spot/instance-action returned {body:?}")),
    }
}

fn understand_lifecycle(body: &str) -> Notice {
    match body.trim() {
        "InService" => Notice::Stay,
        state @ ("Terminated" | "Detached" | "Standby" | "Warmed:Hibernated" | "Warmed:Running"
        | "Warmed:Stopped" | "Warmed:Terminated") => {
            Notice::Leave(format!("the Auto Scaling group wants this instance {state}"))
        }
        state => Notice::Unknown(format!("autoscaling/target-lifecycle-state returned {state:?}")),
    }
}

struct Service {
    endpoint: Url,
    /// `None` before the first request and after a rejected token.
    client: Option<Client>,
}

impl Service {
    async fn notice(&mut self) -> Result<Notice, String> {
        let mut notice = Notice::Stay;
        for (path, understand) in
            [(SPOT, understand_spot as fn(&str) -> Notice), (LIFECYCLE, understand_lifecycle)]
        {
            match self.get(path).await?.as_deref().map_or(Notice::Stay, understand) {
                Notice::Stay => {}
                Notice::Leave(why) => return Ok(Notice::Leave(why)),
                unknown => notice = unknown,
            }
        }
        Ok(notice)
    }

    /// Returns the item, or `None` if it does not exist. If the service rejects a token before it
    /// expires, retries once with a new client, because the SDK's client would keep the token.
    async fn get(&mut self, path: &str) -> Result<Option<String>, String> {
        for _ in 0..2 {
            let client = match self.client.take() {
                Some(client) => client,
                None => client(&self.endpoint)?,
            };
            let answer = client.get(path).await;
            let status = match &answer {
                Err(ImdsError::ErrorResponse(refusal)) => refusal.response().status().as_u16(),
                _ => 0,
            };
            match answer {
                Err(_) if status == UNAUTHORIZED => continue,
                Err(_) if status == NOT_FOUND => {
                    self.client = Some(client);
                    return Ok(None);
                }
                Err(_) if status > 0 => return Err(format!("{path}: {status}")),
                Err(error) => return Err(format!("{path}: {}", innermost(&error))),
                Ok(body) => {
                    self.client = Some(client);
                    return Ok(Some(body.into()));
                }
            }
        }
        Err(format!("{path}: the service rejects a new token"))
    }
}

fn client(endpoint: &Url) -> Result<Client, String> {
    let builder = Client::builder()
        .endpoint(endpoint.as_str())
        .map_err(|error| format!("{endpoint}: {error}"))?;
    // The next poll is the retry.
    let builder = builder.max_attempts(1).token_ttl(TOKEN_TTL);
    let builder = builder.connect_timeout(ANSWER_TIMEOUT).read_timeout(ANSWER_TIMEOUT);
    Ok(builder.operation_timeout(ANSWER_TIMEOUT * 2).build())
}

/// Returns the innermost error, because the SDK's own errors say only which part of a request
/// failed.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_or_a_state_other_than_in_service_starts_a_drain_but_invalid_items_do_not() {
        let spot = understand_spot(r#"{"action": "stop", "time": "2017-09-18T08:22:00Z"}"#);
        let why = "spot notice: EC2 will stop this instance at 2017-09-18T08:22:00Z";
        assert_eq!(spot, Notice::Leave(why.to_owned()));
        for action in ["terminate", "hibernate"] {
            let body = format!(r#"{{"action":"{action}"}}"#);
            assert!(matches!(understand_spot(&body), Notice::Leave(_)), "{body}");
        }
        for body in ["", "{}", "<html>", r#"{"action":"dance"}"#, "null", r#"{"action":7}"#] {
            assert!(matches!(understand_spot(body), Notice::Unknown(_)), "{body}");
        }
        assert_eq!(understand_lifecycle("InService\n"), Notice::Stay);
        for state in ["Terminated", "Detached", "Standby", "Warmed:Stopped", "Warmed:Terminated"] {
            assert!(matches!(understand_lifecycle(state), Notice::Leave(_)), "{state}");
        }
        for state in ["", "<html>", "inservice"] {
            assert!(matches!(understand_lifecycle(state), Notice::Unknown(_)), "{state}");
        }
    }
}
