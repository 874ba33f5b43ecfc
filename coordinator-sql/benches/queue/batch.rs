//! Many completions in one transaction, as no worker makes them: a worker completes each job when
//! it is done.

use everytab_coordinator::Lease;
use serde_json::Value;
use tokio_postgres::{Client, NoTls, types::Type};

/// A session of a worker.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Completes jobs that record no rows, all with the same statistics.
pub(crate) async fn complete(client: &Client, leases: Vec<Lease>, stats: &Value) {
    let fences = || leases.iter().map(|lease| lease.fence);
    let job_ids: Vec<i64> = fences().map(|fence| fence.job_id).collect();
    let lease_numbers: Vec<i32> = fences().map(|fence| fence.lease_number).collect();
    let tokens: Vec<_> = fences().map(|fence| fence.token).collect();
    let stats = vec![stats; leases.len()];
    let sql = "select coordinator.complete($1, $2, $3, $4)";
    let rows = client
        .query_typed(
            sql,
            &[
                (&job_ids, Type::INT8_ARRAY),
                (&lease_numbers, Type::INT4_ARRAY),
                (&tokens, Type::UUID_ARRAY),
                (&stats, Type::JSONB_ARRAY),
            ],
        )
        .await
        .unwrap();
    let results: Vec<&str> = rows[0].get(0);
    assert!(results.iter().all(|result| *result == "recorded"), "{results:?}");
}
