//! The webhooks of a key.

use uuid::Uuid;

use crate::{
    api::caller::{ApiCaller, ApiError},
    bind::bind,
    call::run,
    coordinator::Coordinator,
    error::Error,
    frontier::webhooks::WebhookState,
    row::{FromRow as _, first, values},
};

/// A webhook to add.
#[derive(Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// Its id, unique over all keys.
    pub id: Uuid,
    /// The URL that receives events.
    pub url: String,
    /// The types of events that it receives.
    pub events: Vec<&'static str>,
    /// Its owner's description, 1 to 200 characters.
    pub description: Option<String>,
    /// The secret that signs events, 24 to 64 bytes.
    pub secret: Vec<u8>,
}

/// Changes to a webhook; `None` keeps a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookChange {
    /// The URL that receives events.
    pub url: Option<String>,
    /// The types of events that it receives.
    pub events: Option<Vec<&'static str>>,
    /// Its owner's description; an empty string removes it.
    pub description: Option<String>,
    /// Whether it receives events.
    pub enabled: Option<bool>,
}

impl Coordinator {
    /// Adds a webhook of a key. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_allowed` (the key has as many as it
    /// may).
    pub async fn api_add_webhook(
        &self,
        caller: &ApiCaller,
        webhook: &NewWebhook,
    ) -> Result<WebhookState, ApiError> {
        let sql = "select * from api.add_webhook($1, $2, $3, $4, $5, $6, $7)";
        let (secret, signing) = (caller.secret_sha256.as_slice(), webhook.secret.as_slice());
        let parameters = [
            bind(&caller.key),
            bind(&secret),
            bind(&webhook.id),
            bind(&webhook.url),
            bind(&webhook.events),
            bind(&webhook.description),
            bind(&signing),
        ];
        one(&run(&self.work, sql, &parameters).await?)
    }

    /// Returns a key's webhooks, oldest first, or only the one with `id`. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_list_webhooks(
        &self,
        caller: &ApiCaller,
        id: Option<Uuid>,
    ) -> Result<Vec<WebhookState>, ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select * from api.list_webhooks($1, $2, $3)";
        let parameters = [bind(&caller.key), bind(&secret), bind(&id)];
        Ok(values(&run(&self.work, sql, &parameters).await?)?)
    }

    /// Changes a webhook of a key. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_change_webhook(
        &self,
        caller: &ApiCaller,
        id: Uuid,
        change: &WebhookChange,
    ) -> Result<WebhookState, ApiError> {
        let sql = "select * from api.change_webhook($1, $2, $3, $4, $5, $6, $7)";
        let secret = caller.secret_sha256.as_slice();
        let parameters = [
            bind(&caller.key),
            bind(&secret),
            bind(&id),
            bind(&change.url),
            bind(&change.events),
            bind(&change.description),
            bind(&change.enabled),
        ];
        one(&run(&self.work, sql, &parameters).await?)
    }

    /// Replaces the secret of a key's webhook. The previous one also signs for 24 hours. Charges
    /// one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_rotate_webhook(
        &self,
        caller: &ApiCaller,
        id: Uuid,
        signing: &[u8],
    ) -> Result<(), ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select api.rotate_webhook($1, $2, $3, $4)";
        let parameters = [bind(&caller.key), bind(&secret), bind(&id), bind(&signing)];
        run(&self.work, sql, &parameters).await?;
        Ok(())
    }

    /// Sends the event `webhook.test` to a key's webhook, and returns the event's id. Charges one
    /// request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `not_allowed` (it is disabled).
    pub async fn api_test_webhook(&self, caller: &ApiCaller, id: Uuid) -> Result<Uuid, ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select api.test_webhook($1, $2, $3)";
        let parameters = [bind(&caller.key), bind(&secret), bind(&id)];
        Ok(first(&run(&self.work, sql, &parameters).await?)?)
    }

    /// Drops a webhook of a key, and its events. Charges one request.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_drop_webhook(&self, caller: &ApiCaller, id: Uuid) -> Result<(), ApiError> {
        let secret = caller.secret_sha256.as_slice();
        let sql = "select api.drop_webhook($1, $2, $3)";
        run(&self.work, sql, &[bind(&caller.key), bind(&secret), bind(&id)]).await?;
        Ok(())
    }
}

/// Returns the only webhook of a reply.
fn one(rows: &[tokio_postgres::Row]) -> Result<WebhookState, ApiError> {
    let row = rows.first().ok_or_else(|| Error::Unexpected("no webhook".into()))?;
    Ok(WebhookState::from_row(row)?)
}
