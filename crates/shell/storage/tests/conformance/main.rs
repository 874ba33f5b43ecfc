//! One set of cases that every writable store passes: a directory, and an S3 server that the test
//! starts.

#![allow(clippy::panic)] // Failing loudly is what tests are for.

mod cases;
mod child;
mod contention;
mod directory_faults;
mod large;
mod s3_faults;

use std::{path::PathBuf, sync::Arc};

use everytab_storage::{AccessKey, Store, StoreSettings, open};
use everytab_testbed::s3::S3Server;
use tempfile::TempDir;

struct Place {
    store: Arc<dyn Store>,
    folder: PathBuf,
    _folder: TempDir,
    server: Option<S3Server>,
}

async fn directory() -> Place {
    let folder = TempDir::new().expect("the temporary directory can be written");
    let root = folder.path().join("store");
    let store = open(&format!("file://{}", root.display()), &StoreSettings::default())
        .await
        .expect("a directory that is not there yet can be opened");
    Place { store, folder: root, _folder: folder, server: None }
}

async fn bucket() -> Place {
    let folder = TempDir::new().expect("the temporary directory can be written");
    let server = S3Server::start(folder.path(), "AK", "SK").await.expect("loopback works");
    server.create_bucket("site").expect("the temporary directory can be written");
    let store = open("s3://site/some/prefix", &s3_settings(&server.endpoint)).await;
    let store = store.expect("opening touches no network");
    Place { store, folder: folder.path().join("site"), _folder: folder, server: Some(server) }
}

fn s3_settings(endpoint: &str) -> StoreSettings {
    StoreSettings {
        endpoint: Some(endpoint.to_owned()),
        region: Some("us-east-1".to_owned()),
        access_key: Some(AccessKey { id: "AK".to_owned(), secret: "SK".to_owned() }),
        ..StoreSettings::default()
    }
}

macro_rules! conformance {
    ($($module:ident :: $case:ident),* $(,)?) => {
        mod a_directory {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    super::$module::$case(super::directory().await).await;
                }
            )*
        }
        mod s3 {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    super::$module::$case(super::bucket().await).await;
                }
            )*
        }
    };
}

conformance![
    cases::objects_are_read_back_whole_and_by_ranges,
    cases::an_empty_object_is_an_object,
    cases::a_put_replaces_and_changes_the_version,
    cases::a_missing_object_is_not_found,
    cases::put_if_absent_writes_only_once,
    cases::put_if_etag_only_replaces_the_version_that_was_read,
    cases::a_listing_is_in_byte_order_and_within_its_prefix,
    cases::a_listing_of_thousands_is_complete,
    cases::deleting_thousands_leaves_the_others,
    cases::every_call_rejects_names_that_lead_outside,
    cases::names_with_odd_characters_work,
    cases::reads_are_bounded_by_the_settings,
    contention::of_many_writers_of_an_absent_object_one_wins,
    contention::no_increment_is_lost_when_many_replace_by_etag,
    contention::no_increment_is_lost_by_updates,
    contention::readers_see_whole_versions_only,
    contention::writers_and_deleters_in_one_directory_do_not_interfere,
    large::a_file_of_40_mib_arrives_unchanged,
    large::large_bytes_arrive_unchanged,
    large::a_missing_file_is_named,
];
