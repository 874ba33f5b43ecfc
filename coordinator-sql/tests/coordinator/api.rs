//! Tests the HTTP service's functions: keys, quotas, submissions and reading.

mod answers;
mod bucket;
mod callers;
mod captures;
mod feed;
mod filters;
mod grants;
mod overview;
mod quotas;
mod restored;
mod service;
mod standing;
mod states;
mod submit;
mod tenants;
mod webhooks;
