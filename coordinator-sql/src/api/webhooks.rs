//! A key's webhooks.

use uuid::Uuid;

use crate::{
    api::caller::{ApiCaller, ApiError},
    client::sql_calls::sql_calls,
    crawl::webhooks::WebhookState,
};

/// A webhook to add.
#[derive(Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// Its id, unique across all keys.
    pub id: Uuid,
    /// The receiver's URL.
    pub url: String,
    /// Its event types.
    pub events: Vec<&'static str>,
    /// Its owner's description, 1 to 200 characters.
    pub description: Option<String>,
    /// The secret that signs events, 24 to 64 bytes.
    pub secret: Vec<u8>,
}

/// Changes to a webhook, where `None` leaves a value unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookChange {
    /// The receiver's URL.
    pub url: Option<String>,
    /// Its event types.
    pub events: Option<Vec<&'static str>>,
    /// Its owner's description. An empty string removes it.
    pub description: Option<String>,
    /// Whether it receives events.
    pub enabled: Option<bool>,
}

sql_calls! {
    /// Adds a key's webhook.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_allowed` (the key has 10 webhooks).
    pub async fn api_add_webhook(
        caller: &ApiCaller,
        webhook: &NewWebhook,
    ) -> Result<WebhookState, ApiError>
        = row(
            "select * from api.add_webhook($1, $2, $3, $4, $5, $6, $7)",
            caller.key, caller.secret(), webhook.id, webhook.url, webhook.events,
            webhook.description, webhook.secret.as_slice(),
        );

    /// Returns a key's webhooks, oldest first.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_list_webhooks(
        caller: &ApiCaller,
        id: Option<Uuid>,
    ) -> Result<Vec<WebhookState>, ApiError>
        = rows("select * from api.list_webhooks($1, $2, $3)", caller.key, caller.secret(), id);

    /// Changes a key's webhook.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_change_webhook(
        caller: &ApiCaller,
        id: Uuid,
        change: &WebhookChange,
    ) -> Result<WebhookState, ApiError>
        = row(
            "select * from api.change_webhook($1, $2, $3, $4, $5, $6, $7)",
            caller.key, caller.secret(), id, change.url, change.events, change.description,
            change.enabled,
        );

    /// Replaces a webhook's secret, and signs events with both for 24 hours.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_rotate_webhook(
        caller: &ApiCaller,
        id: Uuid,
        signing: &[u8],
    ) -> Result<(), ApiError>
        = done(
            "select api.rotate_webhook($1, $2, $3, $4)",
            caller.key, caller.secret(), id, signing,
        );

    /// Sends the event `webhook.test`, and returns its id.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`, `webhook_disabled`.
    pub async fn api_test_webhook(caller: &ApiCaller, id: Uuid) -> Result<Uuid, ApiError>
        = value("select api.test_webhook($1, $2, $3)", caller.key, caller.secret(), id);

    /// Drops a key's webhook and its events.
    ///
    /// # Errors
    /// Returns a refusal: `unauthorized`, `throttled`, `not_found`.
    pub async fn api_drop_webhook(caller: &ApiCaller, id: Uuid) -> Result<(), ApiError>
        = done("select api.drop_webhook($1, $2, $3)", caller.key, caller.secret(), id);
}
