//! Tests that a brief failure of this host's own link gives no site an outcome.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::{
    address_guard::{outcomes, serve_all_addresses},
    netns::{in_own_namespaces, shell},
    setup::wait_for,
};

/// A public address.
const SITE: &str = "93.184.215.14";

#[test]
fn a_site_is_retried_when_the_link_recovers_after_connections_failed() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        serve_all_addresses();
        // Only the site is behind this link, on which no other host responds.
        shell(&format!(
            "ip link add near type veth peer name far
             ip link set near up
             ip link set far up
             ip addr add 198.18.0.1/30 dev near
             ip route add {SITE}/32 dev near table local"
        ))
        .unwrap();
        // Connections fail when the kernel gives up on the neighbour, so the link is repaired at
        // this moment.
        let mut command = Command::new("ip");
        let mut monitor =
            command.args(["monitor", "neigh"]).stdout(Stdio::piped()).spawn().unwrap();
        let events = BufReader::new(monitor.stdout.take().unwrap());
        let mended = thread::spawn(move || {
            // This thread inherits the namespaces.
            let failed = events.lines().map_while(Result::ok).find(|line| line.contains("FAILED"));
            failed.map(|_| shell(&format!("ip route del {SITE}/32 dev near table local")).unwrap())
        });
        let found = outcomes(&[], &[format!("http://{SITE}/favicon.ico")]);
        monitor.kill().unwrap();
        monitor.wait().unwrap();
        assert_eq!(mended.join().unwrap(), Some(()), "the connection never failed");
        assert_eq!(found, ["not_image_other"]);
    });
}

#[test]
fn a_site_is_retried_if_the_link_was_down_while_it_did_not_respond() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let dialled = serve_all_addresses();
        // Only the site is behind this link, which loses all packets.
        shell(&format!(
            "ip link add near type veth peer name far
             ip link set near up
             ip link set far up
             ip addr add 198.18.0.1/30 dev near
             ip neigh add 198.18.0.2 lladdr 02:00:00:00:00:01 dev near nud permanent
             ip route add {SITE}/32 via 198.18.0.2 dev near table local"
        ))
        .unwrap();
        let mended = thread::spawn(move || {
            // All four sites are requested at the same time. A connection may take five seconds,
            // and the kernel repeats its packets after a second and later.
            wait_for("the other sites", || (dialled.lock().unwrap().len() == 3).then_some(()));
            thread::sleep(Duration::from_millis(4_500));
            shell(&format!("ip route del {SITE}/32 dev near table local")).unwrap();
        });
        // Three other sites respond, which shows the fetcher that the link works.
        let sites = ["93.184.215.15", "93.184.215.16", "93.184.215.17", SITE];
        let urls = sites.map(|site| format!("http://{site}/favicon.ico"));
        let found = outcomes(&[], &urls);
        mended.join().unwrap();
        assert_eq!(found, ["not_image_other"; 4]);
    });
}
