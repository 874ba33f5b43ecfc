//! `migrate`: the database to this program's schema.

use everytab_coordinator::schema_digest;

use crate::{
    commands::database,
    config::DatabaseArgs,
    failure::{Exit, Outcome},
};

/// Migrates; running it again changes nothing.
///
/// # Errors
/// When the database refuses.
pub async fn run(args: DatabaseArgs) -> Outcome {
    let coordinator = database::connect_unchecked(database::url(&args)?).await?;
    let applied = coordinator.migrate().await?;
    for name in &applied {
        println!("applied {name}");
    }
    println!("schema {} ({} new migrations)", schema_digest(), applied.len());
    Ok(Exit::Done)
}
