//! Signs events according to the Standard Webhooks specification.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Returns the signature for a body: HMAC-SHA256 over id, time (seconds since 1970) and body,
/// joined with dots.
pub(super) fn signature(secret: &[u8], id: &str, timestamp: &str, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else {
        // HMAC accepts keys of any length.
        return String::new();
    };
    for part in [id, ".", timestamp, ".", body] {
        mac.update(part.as_bytes());
    }
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example from the specification's reference libraries.
    #[test]
    fn signatures_equal_those_of_the_reference_libraries() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let found = signature(
            &secret,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            "{\"test\": 2432232314}",
        );
        assert_eq!(found, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
