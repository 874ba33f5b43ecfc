//! A server that accepts a connection and sends nothing more.

use std::{io, time::Duration};

use tokio::{io::AsyncReadExt, time::timeout};

const SILENCE: Duration = Duration::from_secs(120);

pub(super) async fn keep_silent<S: AsyncReadExt + Unpin>(mut stream: S) -> io::Result<()> {
    let mut ignored = [0; 1_024];
    let until_closed = async {
        while stream.read(&mut ignored).await? > 0 {}
        io::Result::Ok(())
    };
    timeout(SILENCE, until_closed).await?
}
