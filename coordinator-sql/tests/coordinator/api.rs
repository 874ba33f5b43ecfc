//! The HTTP service's functions: keys, what they may use, what they submit, and what they read.

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
