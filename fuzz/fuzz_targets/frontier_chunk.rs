//! Unpacks any bytes as a host's chunks. This must return an error, or a usable state that can be
//! packed and unpacked without a change.
//!
//! The first byte is the length of the first of two chunks. In a chunk's first byte, the highest
//! bit selects version 1.
#![no_main]

use everytab_frontier::{
    CanonicalUrl, FinalState, HostState, Link, ParameterList, Rules, SiteUsage, Unpacked,
    never_paused, pack_links, unpack_links,
};
use libfuzzer_sys::fuzz_target;

const HOST: &str = "a.example";

fuzz_target!(|bytes: &[u8]| {
    let parameters = ParameterList::default();
    let Some((first, bytes)) = bytes.split_first() else { return };
    let (one, other) = bytes.split_at(usize::from(*first).min(bytes.len()));
    let chunks: Vec<Vec<u8>> =
        [one, other].into_iter().filter(|chunk| !chunk.is_empty()).map(sealed).collect();
    for chunk in &chunks {
        if let Ok(found) = unpack_links(chunk, &parameters) {
            let packed = pack_links(&found.links);
            let again = packed.iter().map(|chunk| unpack_links(chunk, &parameters));
            let again: Vec<Link> =
                again.flat_map(|again| again.expect("packed chunks unpack").links).collect();
            assert_eq!(again.len(), found.links.len());
        }
    }
    let unpacked = HostState::unpack(HOST, chunks.iter().map(Vec::as_slice), &parameters);
    let Ok(Unpacked { mut state, unmerged, .. }) = unpacked else { return };
    check_sums(&state);
    let rules = Rules::default();
    let mut site = SiteUsage::default();
    state.merge(unmerged, &rules, &mut site);
    let url = CanonicalUrl::parse("http://a.example/fuzz", &parameters).expect("a URL");
    state.merge([Link::submitted(url, true, 0)], &rules, &mut site);
    for _ in 0..3 {
        let Some(pending) = state.next(u64::MAX, never_paused) else { break };
        state.note_page((pending.hash, "/page-1"), &[1, 2, 3], &[], &rules);
        if !state.retry(pending.hash, 1, 3) {
            state.finish(pending.hash, FinalState::Captured);
        }
    }
    check_sums(&state);
    let packed = state.pack_snapshot(never_paused).bytes;
    let again = HostState::unpack(HOST, [&*packed], &parameters).expect("packed chunks unpack");
    assert!(again.state == state && again.unmerged.is_empty());
});

fn check_sums(state: &HostState) {
    let sums = state.sums();
    let ended = sums.captured + sums.failed + sums.refused + sums.left;
    assert_eq!(sums.known, sums.pending + ended);
}

/// Adds a version and a correct checksum, which a fuzzer would never find.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let (first, fields) = bytes.split_at(1);
    let (version, kind) = (2 - (first[0] >> 7), first[0] & 0x7f);
    let mut crc = !0_u32;
    for byte in [kind].iter().chain(fields) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    [&[version, kind], &(!crc).to_be_bytes()[..], fields].concat()
}
