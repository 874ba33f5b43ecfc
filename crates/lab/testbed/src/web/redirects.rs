//! Redirects: chains, chains that are too long, loops, and redirects to private or invalid targets.
//! The path contains the number of remaining hops (`/_hop/3/favicon.ico`).

use super::reply::Answer;
use crate::{
    behaviour::Behaviour,
    dice::Dice,
    internet::{Internet, SHARED_HOSTS},
    request::Request,
};

const HOP: &str = "/_hop/";

const PRIVATE: [&str; 8] = [
    "http://10.0.0.1/favicon.ico",
    "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
    "http://192.168.1.1/favicon.ico",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "https://172.16.0.1/",
    "http://[::ffff:10.0.0.1]/favicon.ico",
    "http://0xa000001/favicon.ico",
    "http://100.100.100.200/latest/meta-data/",
];

const BAD_SCHEMES: [&str; 4] = [
    "ftp://files.example/favicon.ico",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:image/png;base64,iVBORw0KGgo=",
];

pub(crate) fn answer(
    internet: &Internet,
    request: &Request,
    behaviour: Behaviour,
) -> Result<Answer, Request> {
    let mut dice = Dice::new(internet.seed, &["redirect", &request.host, &request.target]);
    match behaviour {
        Behaviour::RedirectPrivate => {
            let target = dice.pick(&PRIVATE);
            Ok(redirect(&mut dice, target))
        }
        Behaviour::RedirectBadScheme => {
            let target = dice.pick(&BAD_SCHEMES);
            Ok(redirect(&mut dice, target))
        }
        Behaviour::RedirectOtherHost => {
            let host = dice.pick(&SHARED_HOSTS);
            let target = format!("https://{host}{}", request.path());
            Ok(redirect(&mut dice, target))
        }
        Behaviour::RedirectLoop => Ok(loop_back(request, &mut dice)),
        Behaviour::RedirectTooMany => chain(internet, request, 6, 9),
        _ => chain(internet, request, 1, 5),
    }
}

fn loop_back(request: &Request, dice: &mut Dice) -> Answer {
    let there = format!("{HOP}round{}", request.target);
    let target = match request.target.strip_prefix(&format!("{HOP}round")) {
        Some(back) => back.to_owned(),
        None if dice.permille(500) => there,
        None => request.target.clone(),
    };
    redirect(dice, target)
}

fn chain(internet: &Internet, request: &Request, least: u64, most: u64) -> Result<Answer, Request> {
    let (left, target) = match unwind(&request.target) {
        Some((left, target)) => (left, target.to_owned()),
        None => {
            let labels = ["hops", &request.host, &request.target];
            (Dice::new(internet.seed, &labels).between(least, most), request.target.clone())
        }
    };
    let Some(next) = left.checked_sub(1) else {
        return Err(Request { target, ..request.clone() });
    };
    let mut dice = Dice::new(internet.seed, &["hop", &request.host, &request.target]);
    let path = format!("{HOP}{next}{target}");
    let location = match dice.below(4) {
        0 | 1 => path,
        2 => format!("//{}{path}", request.host),
        // No hop leads back to http, because some clients reject such redirects.
        _ => format!("https://{}{path}", request.host),
    };
    Ok(redirect(&mut dice, location))
}

fn unwind(target: &str) -> Option<(u64, &str)> {
    let rest = target.strip_prefix(HOP)?;
    let slash = rest.find('/')?;
    let (left, target) = rest.split_at_checked(slash)?;
    Some((left.parse().ok()?, target))
}

fn redirect(dice: &mut Dice, location: impl Into<String>) -> Answer {
    let status = dice.pick(&[301, 302, 302, 303, 307, 308]);
    Answer::page(status, "Moved").with("location", location)
}
