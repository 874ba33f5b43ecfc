//! The response for `/robots.txt`: usually a 404 or rules that allow icons, and rarely rules that
//! disallow them.

use super::reply::Answer;
use crate::{behaviour::Behaviour, dice::Dice, internet::Internet, request::Request};

/// `None` is a 404.
const ALLOWING: [(Option<&str>, u32); 7] = [
    (None, 45),
    (Some("User-agent: *\nDisallow:\n"), 20),
    (Some("User-agent: *\nAllow: /\n\nSitemap: /sitemap.xml\n"), 10),
    (Some("User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n"), 15),
    (Some("User-agent: *\r\nCrawl-delay: 10\r\nDisallow: /search\r\nDisallow: /*?sort=\r\n"), 5),
    (Some("User-agent: BadBot\nDisallow: /\n\nUser-agent: *\nDisallow: /cgi-bin/\n"), 4),
    (Some("<!DOCTYPE html><html><head><title>Home</title></head></html>\n"), 1),
];

const FORBIDDING: [&str; 3] = [
    "User-agent: *\nDisallow: /\n",
    "User-agent: Googlebot\nAllow: /\n\nUser-agent: *\nDisallow: /\n",
    "user-agent: EveryTabBot\ndisallow: /\n\nuser-agent: *\ndisallow:\n",
];

/// Status and body faults apply only to icons, because a robots.txt with status 500 would mean
/// unknown rules.
pub(crate) fn answer(internet: &Internet, request: &Request, behaviour: Behaviour) -> Answer {
    let mut dice = Dice::new(internet.seed, &["robots", &request.host]);
    let text = match behaviour {
        Behaviour::RobotsUnavailable => return Answer::page(503, "Service Unavailable"),
        Behaviour::RobotsDisallow => Some(dice.pick(&FORBIDDING)),
        _ => dice.weighted(&ALLOWING),
    };
    match text {
        Some(text) => Answer::new(200, "text/plain", text),
        None => Answer::page(404, "Not Found"),
    }
}
