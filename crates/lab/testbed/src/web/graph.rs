//! Responses from hosts in a site graph.

use super::reply::{Answer, Ending};
use crate::{
    graph::{BodyEnd, ServedGraph},
    internet::Internet,
    request::Request,
};

const PROMISED_BYTES: usize = 5_000;

pub(super) fn answer(internet: &Internet, graph: &ServedGraph, request: &Request) -> Answer {
    let sent = (request.if_none_match.as_deref(), request.cookie.as_deref());
    let made = graph.answer(&request.host, &request.target, sent);
    let Some(made) = made else { return Answer::page(421, "Misdirected Request") };
    let mut answer = Answer::new(made.status, "", made.body);
    answer.headers.extend(made.headers.into_iter().map(|(name, value)| (name.to_owned(), value)));
    answer.delay = internet.latency.base + made.delay;
    answer.ending = match made.end {
        BodyEnd::Whole => Ending::Length,
        BodyEnd::Endless => Ending::Endless,
        BodyEnd::LengthTooLong => Ending::Declared(answer.body.len() + PROMISED_BYTES),
        BodyEnd::Unended => Ending::Unended,
    };
    answer
}
