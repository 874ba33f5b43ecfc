//! Finds where numbers in DELTA_BINARY_PACKED end (parquet-format, Encodings.md), and checks their
//! count.

const CUT_SHORT: &str = "a run of deltas cut short";

/// Returns the offset after the numbers at the start of `bytes`. At most `most` numbers are
/// allowed.
pub(super) fn end_of_numbers(bytes: &[u8], most: u64) -> Result<usize, &'static str> {
    let mut at = 0;
    let block = varint(bytes, &mut at)?;
    let runs = varint(bytes, &mut at)?;
    let total = varint(bytes, &mut at)?;
    varint(bytes, &mut at)?;
    if total > most {
        return Err("more deltas than the page has values");
    }
    let per_run = block.checked_div(runs).filter(|each| *each > 0 && each.is_multiple_of(8));
    let per_run =
        per_run.filter(|each| each * runs == block).ok_or("invalid block size of deltas")?;
    let mut left = total.saturating_sub(1);
    while left > 0 {
        varint(bytes, &mut at)?;
        let widths_end = usize::try_from(runs).ok().and_then(|runs| at.checked_add(runs));
        let widths = widths_end.and_then(|end| bytes.get(at..end)).ok_or(CUT_SHORT)?;
        at += widths.len();
        for width in widths {
            if left == 0 {
                break;
            }
            let run_bytes = u64::from(*width).checked_mul(per_run / 8);
            let run_bytes = run_bytes.and_then(|bytes| usize::try_from(bytes).ok());
            at = run_bytes.and_then(|bytes| at.checked_add(bytes)).ok_or(CUT_SHORT)?;
            left = left.saturating_sub(per_run);
        }
    }
    // A writer may omit the bytes after the last number in the last run.
    Ok(at.min(bytes.len()))
}

fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, &'static str> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = *bytes.get(*at).ok_or(CUT_SHORT)?;
        *at += 1;
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("a number of more than 64 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7, 5, 3, 1, 2: the first example in Encodings.md and one more number. The deltas are stored
    /// in two bits each, as the difference from -2.
    const FIVE: [u8; 18] = [0x80, 1, 4, 5, 14, 3, 2, 0, 0, 0, 0b1100_0000, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn the_end_is_that_of_the_last_run() {
        let mut bytes = FIVE.to_vec();
        bytes.extend([9, 9, 9]);
        assert_eq!(end_of_numbers(&bytes, 5), Ok(18));
        assert_eq!(end_of_numbers(&[0x80, 1, 4, 1, 14, 9], 5), Ok(5));
    }

    #[test]
    fn numbers_that_the_page_cannot_have_are_refused() {
        assert!(end_of_numbers(&FIVE, 4).is_err());
        let huge = [0x80, 1, 4, 0xff, 0xff, 0xff, 0xff, 0x7f, 0];
        assert_eq!(end_of_numbers(&huge, 100), Err("more deltas than the page has values"));
        assert_eq!(end_of_numbers(&[0x80, 1, 0, 2, 0], 9), Err("invalid block size of deltas"));
        assert_eq!(end_of_numbers(&[], 9), Err(CUT_SHORT));
        assert_eq!(end_of_numbers(&[0x80, 1, 4, 5, 14, 3, 2], 9), Err(CUT_SHORT));
    }
}
