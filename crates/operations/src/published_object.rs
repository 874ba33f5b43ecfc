//! How an object of the published site is stored.

use everytab_bundler::object_names::{cache_control, content_type};
use everytab_storage::PutOptions;

/// The content type and the cache rule that belong to an object's name.
pub(crate) fn put_options(key: &str) -> PutOptions {
    PutOptions::new(content_type(key), cache_control(key))
}
