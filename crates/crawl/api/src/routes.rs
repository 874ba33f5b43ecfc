//! The table of routes. A resource is one file in `resources/` and two lines here, which add its
//! routes and its part of the description.

use std::sync::Arc;

use axum::{Router, middleware};
use serde::Serialize;
use serde_json::Value;
use utoipa::{OpenApi, openapi};

use crate::{
    description, manners,
    resources::{
        batches, captured, crawl_changes, crawl_moves, crawls, feed, filter_trial, filters, health,
        overview, own_settings, page, rates, robots, schedules, search, urls, webhooks,
    },
    service::Service,
    webhook_events,
};

pub(crate) fn router(service: Arc<Service>) -> Router {
    Router::new()
        .merge(urls::routes())
        .merge(batches::routes())
        .merge(schedules::routes())
        .merge(filters::routes())
        .merge(filter_trial::routes())
        .merge(robots::routes())
        .merge(rates::routes())
        .merge(captured::routes())
        .merge(search::routes())
        .merge(crawls::routes())
        .merge(crawl_moves::routes())
        .merge(feed::routes())
        .merge(webhooks::routes())
        .merge(own_settings::routes())
        .merge(overview::routes())
        .merge(health::routes())
        .merge(description::routes())
        .merge(page::routes())
        .fallback(manners::no_route)
        .with_state(Arc::clone(&service))
        .layer(middleware::from_fn_with_state(service, manners::with_manners))
}

/// Returns the description as JSON, as in docs/openapi.json.
///
/// # Errors
/// Returns an error if it cannot be serialized.
pub fn description_json() -> Result<String, serde_json::Error> {
    let whole = WholeDescription { paths: described(), webhooks: webhook_events::described() };
    Ok(serde_json::to_string_pretty(&whole)? + "\n")
}

/// Adds the webhooks, which utoipa does not support.
#[derive(Serialize)]
struct WholeDescription {
    #[serde(flatten)]
    paths: openapi::OpenApi,
    webhooks: Value,
}

fn described() -> openapi::OpenApi {
    let parts = [
        urls::UrlsDescription::openapi(),
        batches::BatchesDescription::openapi(),
        schedules::SchedulesDescription::openapi(),
        filters::FiltersDescription::openapi(),
        filter_trial::FilterTrialDescription::openapi(),
        robots::RobotsDescription::openapi(),
        rates::RatesDescription::openapi(),
        captured::CapturedDescription::openapi(),
        search::SearchDescription::openapi(),
        crawls::CrawlsDescription::openapi(),
        crawl_changes::CrawlChangesDescription::openapi(),
        crawl_moves::CrawlMovesDescription::openapi(),
        feed::FeedDescription::openapi(),
        webhooks::WebhooksDescription::openapi(),
        webhook_events::EventsDescription::openapi(),
        own_settings::OwnSettingsDescription::openapi(),
        overview::OverviewDescription::openapi(),
        health::HealthDescription::openapi(),
    ];
    description::of(parts)
}
