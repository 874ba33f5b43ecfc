//! stub
/// In a scan's settings while its backup is brought back.
pub(super) const RESTORING: &str = "restoring";
/// x
#[derive(Debug, clap::Args)] pub struct BackupArgs {}
/// x
#[derive(Debug, clap::Args)] pub struct RestoreArgs {}
/// x
pub async fn backup(_: BackupArgs) -> crate::failure::Outcome { Ok(crate::failure::Exit::Done) }
/// x
pub async fn restore(_: RestoreArgs) -> crate::failure::Outcome { Ok(crate::failure::Exit::Done) }
