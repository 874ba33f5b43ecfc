//! Completes a batch of no-op jobs in one call, like a worker's group commit.

use everytab_coordinator::Lease;
use serde_json::Value;
use tokio_postgres::{Client, NoTls, types::Type};

const COMPLETE: &str = "select coordinator.complete($1, $2, $3, $4),
                               set_config('synchronous_commit', 'off', true)";
const FLUSH: &str = "select pg_logical_emit_message(true, 'everytab', '')::text";

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

pub(crate) async fn complete(client: &Client, leases: Vec<Lease>, stats: &Value) {
    let fences = || leases.iter().map(|lease| lease.fence);
    let job_ids: Vec<i64> = fences().map(|fence| fence.job_id).collect();
    let lease_numbers: Vec<i32> = fences().map(|fence| fence.lease_number).collect();
    let tokens: Vec<_> = fences().map(|fence| fence.token).collect();
    let stats = vec![stats; leases.len()];
    let parameters = [
        (&job_ids as _, Type::INT8_ARRAY),
        (&lease_numbers as _, Type::INT4_ARRAY),
        (&tokens as _, Type::UUID_ARRAY),
        (&stats as _, Type::JSONB_ARRAY),
    ];
    let completing = client.query_typed(COMPLETE, &parameters);
    let (rows, flushed) = tokio::join!(completing, client.query_typed(FLUSH, &[]));
    let rows = rows.unwrap();
    flushed.unwrap();
    let results: Vec<&str> = rows[0].get(0);
    assert!(results.iter().all(|result| *result == "recorded"), "{results:?}");
}
