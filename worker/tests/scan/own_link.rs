//! If this host's own link fails and recovers, the requested site gets no outcome from this.

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

/// The site's address, which is public.
const SITE: &str = "93.184.215.14";

#[test]
fn a_site_is_tried_again_when_the_link_comes_back_after_it_was_said_to_be_unreachable() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        serve_all_addresses();
        // Only the site is behind a link on which nobody responds.
        shell(&format!(
            "ip link add near type veth peer name far
             ip link set near up
             ip link set far up
             ip addr add 198.18.0.1/30 dev near
             ip route add {SITE}/32 dev near table local"
        ))
        .unwrap();
        // This reports when the kernel gives up the neighbour, and fails connections.
        let mut command = Command::new("ip");
        let mut monitor =
            command.args(["monitor", "neigh"]).stdout(Stdio::piped()).spawn().unwrap();
        let events = BufReader::new(monitor.stdout.take().unwrap());
        let mended = thread::spawn(move || {
            // A child thread is in this thread's namespaces.
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
fn a_site_is_tried_again_when_the_link_was_cut_while_it_did_not_answer() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let dialled = serve_all_addresses();
        // The site alone lies beyond a link that loses all packets.
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
            // All four are requested at the same time. The kernel retries after a second and more;
            // a connection may take five.
            wait_for("the other sites", || (dialled.lock().unwrap().len() == 3).then_some(()));
            thread::sleep(Duration::from_millis(4_500));
            shell(&format!("ip route del {SITE}/32 dev near table local")).unwrap();
        });
        // By three other sites the fetcher knows that the link works.
        let sites = ["93.184.215.15", "93.184.215.16", "93.184.215.17", SITE];
        let urls = sites.map(|site| format!("http://{site}/favicon.ico"));
        let found = outcomes(&[], &urls);
        mended.join().unwrap();
        assert_eq!(found, ["not_image_other"; 4]);
    });
}
