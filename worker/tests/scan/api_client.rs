//! A client of the HTTP service that uses one connection per request.

use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
};

use serde_json::Value;

use crate::setup::LIMIT;

#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) address: String,
    pub(crate) key: String,
}

impl Client {
    /// Sends JSON, or no body if it is null. Returns the response's status and JSON.
    ///
    /// # Errors
    /// Returns an error if the service is unreachable or exits before it responds.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> io::Result<(u16, Value)> {
        let text = self.exchange(method, path, body)?;
        let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(cut)?;
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(cut)?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.is_some_and(|length| length.parse() != Ok(body.len())) {
            return Err(cut());
        }
        Ok((status, serde_json::from_str(body).unwrap_or_default()))
    }

    fn exchange(&self, method: &str, path: &str, body: &Value) -> io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let host = &self.address;
        let key = &self.key;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n"
        );
        stream.write_all((head + &body).as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.try_send(method, path, body).unwrap()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.send("POST", path, body);
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, answer) = self.send("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }
}
