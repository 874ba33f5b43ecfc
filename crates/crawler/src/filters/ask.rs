//! Sends requests about pages to a classifier: a program that listens on a unix socket of this
//! host.
//!
//! Each page uses one connection: one line is sent, and one line is received within 200 ms. A
//! classifier that fails to do this holds back no page: the page is kept, and the failure is
//! counted. Does not depend on the meaning of an answer.

use std::{io, time::Duration};

use everytab_filters::{ClassifierAnswer, ClassifierQuestion, MAX_ANSWER_BYTES};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    sync::Semaphore,
    time::timeout,
};

/// Maximum time that a page waits for a classifier, including the wait for a permit.
const PATIENCE: Duration = Duration::from_millis(200);
/// Maximum concurrent classifier requests. Others wait within their time.
const MAX_QUESTIONS: usize = 64;

static QUESTIONS: Semaphore = Semaphore::const_new(MAX_QUESTIONS);

/// The reason why a classifier gave no answer, as metrics count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The time limit was reached.
    Timeout,
    /// The socket cannot be reached, or the connection closed without an answer.
    Unreachable,
    /// The line is not a valid answer.
    Invalid,
}

impl Silence {
    /// Returns the metrics label.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Unreachable => "unreachable",
            Self::Invalid => "invalid",
        }
    }
}

/// Sends a request to a classifier, and parses its answer.
pub(crate) async fn ask(
    socket: &str,
    question: &ClassifierQuestion<'_>,
) -> Result<ClassifierAnswer, Silence> {
    let line = question.line();
    let asked = timeout(PATIENCE, async {
        // The semaphore is never closed.
        let _turn = QUESTIONS.acquire().await.map_err(io::Error::other)?;
        exchange(socket, &line).await
    });
    match asked.await {
        Err(_elapsed) => Err(Silence::Timeout),
        Ok(Err(_)) => Err(Silence::Unreachable),
        Ok(Ok(answer)) if answer.is_empty() => Err(Silence::Unreachable),
        Ok(Ok(answer)) => ClassifierAnswer::parse(&answer).map_err(|_| Silence::Invalid),
    }
}

async fn exchange(socket: &str, line: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(line).await?;
    let mut answer = Vec::new();
    // One byte more than the maximum, because a longer answer is invalid.
    let most = MAX_ANSWER_BYTES as u64 + 1;
    BufReader::new(stream).take(most).read_until(b'\n', &mut answer).await?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use everytab_filters::FilterVerdict;
    use tempfile::TempDir;
    use tokio::net::UnixListener;

    use super::*;

    /// A classifier that reads a line and then does something with the connection.
    fn classifier<F: Future<Output = ()> + Send>(
        answer: impl Fn(UnixStream, String) -> F + Send + Sync + 'static,
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
                answer(stream.into_inner(), line).await;
            }
        });
        (folder, path)
    }

    async fn asked(path: &std::path::Path) -> Result<ClassifierAnswer, Silence> {
        let question = ClassifierQuestion::new("http://a.example/", "spam", "text", Some("eng"));
        ask(path.to_str().unwrap(), &question).await
    }

    #[tokio::test]
    async fn a_classifier_answers_what_it_is_asked() {
        let (_folder, path) = classifier(|mut stream, line| async move {
            let question: serde_json::Value = serde_json::from_str(&line).unwrap();
            let verdict = if question["title"] == "spam" { "drop" } else { "keep" };
            let answer = format!("{{\"verdict\":\"{verdict}\",\"labels\":[\"x\"]}}\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        let answer = asked(&path).await.unwrap();
        assert_eq!((answer.verdict, answer.labels), (FilterVerdict::Drop, vec!["x".to_owned()]));
        let question = ClassifierQuestion::new("http://a.example/", "", "", None);
        let answer = ask(path.to_str().unwrap(), &question).await.unwrap();
        assert_eq!(answer.verdict, FilterVerdict::Keep);
    }

    #[tokio::test]
    async fn one_that_hangs_lies_or_closes_keeps_no_page_back() {
        let (_hangs, hangs) = classifier(|stream, _| async move {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            drop(stream);
        });
        assert_eq!(asked(&hangs).await, Err(Silence::Timeout));
        let (_lies, lies) = classifier(|mut stream, _| async move {
            stream.write_all(b"{\"verdict\":\"burn\"}\n").await.unwrap();
        });
        assert_eq!(asked(&lies).await, Err(Silence::Invalid));
        let (_endless, endless) = classifier(|mut stream, _| async move {
            // The reader stops after the maximum length of an answer.
            while stream.write_all(&[b'x'; 4_096]).await.is_ok() {}
        });
        assert_eq!(asked(&endless).await, Err(Silence::Invalid));
        let (_closes, closes) = classifier(|stream, _| async move { drop(stream) });
        assert_eq!(asked(&closes).await, Err(Silence::Unreachable));
        let absent = closes.with_file_name("absent.sock");
        assert_eq!(asked(&absent).await, Err(Silence::Unreachable));
    }
}
