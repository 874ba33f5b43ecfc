//! Sends pages to a classifier, which is a program that listens on a unix socket on this host.
//!
//! Each page uses one connection, on which one line is sent and one is received.

use std::{io, time::Duration};

use everytab_filters::{ClassifierRequest, ClassifierResponse, MAX_ANSWER_BYTES};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    sync::Semaphore,
    time::timeout,
};

/// Maximum time that a page waits for a classifier, including the time until a permit is free.
const PATIENCE: Duration = Duration::from_millis(200);
/// Maximum concurrent classifier requests. Further requests wait for a permit.
const MAX_QUESTIONS: usize = 64;

static PERMITS: Semaphore = Semaphore::const_new(MAX_QUESTIONS);

/// The reason why a classifier returned no verdict, as metrics count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClassifierFailure {
    Timeout,
    /// The socket cannot be reached, or the connection closed without a reply.
    Unreachable,
    Invalid,
}

impl ClassifierFailure {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Unreachable => "unreachable",
            Self::Invalid => "invalid",
        }
    }
}

pub(crate) async fn classify(
    socket: &str,
    question: &ClassifierRequest<'_>,
) -> Result<ClassifierResponse, ClassifierFailure> {
    let line = question.line();
    let reply = timeout(PATIENCE, async {
        // The semaphore is never closed.
        let _permit = PERMITS.acquire().await.map_err(io::Error::other)?;
        exchange(socket, &line).await
    });
    match reply.await {
        Err(_elapsed) => Err(ClassifierFailure::Timeout),
        Ok(Err(_)) => Err(ClassifierFailure::Unreachable),
        Ok(Ok(reply)) if reply.is_empty() => Err(ClassifierFailure::Unreachable),
        Ok(Ok(reply)) => ClassifierResponse::parse(&reply).map_err(|_| ClassifierFailure::Invalid),
    }
}

async fn exchange(socket: &str, line: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(line).await?;
    let mut reply = Vec::new();
    // Read one byte more than the maximum, so that a longer reply is recognized as invalid.
    let most = MAX_ANSWER_BYTES as u64 + 1;
    BufReader::new(stream).take(most).read_until(b'\n', &mut reply).await?;
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use everytab_filters::FilterVerdict;
    use tempfile::TempDir;
    use tokio::net::UnixListener;

    use super::*;

    /// Starts a classifier that reads a line and then runs `reply`.
    fn classifier<F: Future<Output = ()> + Send>(
        reply: impl Fn(UnixStream, String) -> F + Send + Sync + 'static,
    ) -> (TempDir, PathBuf) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("classifier.sock");
        let listener = UnixListener::bind(&path).unwrap();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                stream.read_line(&mut line).await.unwrap();
                reply(stream.into_inner(), line).await;
            }
        });
        (folder, path)
    }

    async fn classified(path: &std::path::Path) -> Result<ClassifierResponse, ClassifierFailure> {
        let question = ClassifierRequest::new("http://a.example/", "spam", "text", Some("eng"));
        classify(path.to_str().unwrap(), &question).await
    }

    #[tokio::test]
    async fn a_classifier_returns_a_verdict_for_each_page() {
        let (_folder, path) = classifier(|mut stream, line| async move {
            let question: serde_json::Value = serde_json::from_str(&line).unwrap();
            let verdict = if question["title"] == "spam" { "drop" } else { "keep" };
            let reply = format!("{{\"verdict\":\"{verdict}\",\"labels\":[\"x\"]}}\n");
            stream.write_all(reply.as_bytes()).await.unwrap();
        });
        let reply = classified(&path).await.unwrap();
        assert_eq!((reply.verdict, reply.labels), (FilterVerdict::Drop, vec!["x".to_owned()]));
        let question = ClassifierRequest::new("http://a.example/", "", "", None);
        let reply = classify(path.to_str().unwrap(), &question).await.unwrap();
        assert_eq!(reply.verdict, FilterVerdict::Keep);
    }

    #[tokio::test]
    async fn a_classifier_that_hangs_or_misbehaves_holds_back_no_page() {
        let (_hangs, hangs) = classifier(|stream, _| async move {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            drop(stream);
        });
        assert_eq!(classified(&hangs).await, Err(ClassifierFailure::Timeout));
        let (_lies, lies) = classifier(|mut stream, _| async move {
            stream.write_all(b"{\"verdict\":\"burn\"}\n").await.unwrap();
        });
        assert_eq!(classified(&lies).await, Err(ClassifierFailure::Invalid));
        let (_endless, endless) = classifier(|mut stream, _| async move {
            // The client stops reading after the maximum reply length, so this write fails.
            while stream.write_all(&[b'x'; 4_096]).await.is_ok() {}
        });
        assert_eq!(classified(&endless).await, Err(ClassifierFailure::Invalid));
        let (_closes, closes) = classifier(|stream, _| async move { drop(stream) });
        assert_eq!(classified(&closes).await, Err(ClassifierFailure::Unreachable));
        let absent = closes.with_file_name("absent.sock");
        assert_eq!(classified(&absent).await, Err(ClassifierFailure::Unreachable));
    }
}
