//! Tests of scaling.

use super::*;

fn plain(width: u32, height: u32, pixel: [u8; 4]) -> Pixels {
    Pixels::new(width, height, pixel.repeat((width * height) as usize)).unwrap()
}

#[test]
fn scaling_keeps_the_aspect_ratio_and_never_enlarges() {
    assert_eq!(fit(16, 16, 32, false), (16, 16));
    assert_eq!(fit(16, 8, 32, true), (32, 16));
    assert_eq!(fit(64, 48, 32, false), (32, 24));
    assert_eq!(fit(2000, 3, 32, false), (32, 1));
    assert_eq!(fit(3, 2000, 32, false), (1, 32));
    assert_eq!(fit(33, 32, 32, false), (32, 31));
    assert_eq!(fit(u32::MAX, u32::MAX, 32, true), (32, 32));
}

#[test]
fn a_plain_picture_keeps_its_colour_at_every_size() {
    for (width, height) in [(33, 33), (64, 40), (257, 1000), (2048, 2)] {
        for pixel in [[255, 255, 255, 255], [1, 128, 254, 255], [200, 9, 77, 3], [0; 4]] {
            let small = scale_down(plain(width, height, pixel), 32);
            // With low alpha a colour may change by an invisible amount.
            let shown = |byte: u8| u32::from(byte) * u32::from(pixel[3]) / 255;
            let near = |a: u8, b: u8| a == b || pixel[3] < 255 && shown(a).abs_diff(shown(b)) <= 1;
            let same =
                |p: [u8; 4]| p[3] == pixel[3] && p.iter().zip(pixel).all(|(&a, b)| near(a, b));
            assert!(small.iter().all(same), "{width}x{height} {pixel:?}");
        }
    }
}

#[test]
fn black_and_white_mix_in_linear_light() {
    let columns: Vec<u8> =
        (0..64 * 64).flat_map(|i| if i % 2 == 0 { [0, 0, 0, 255] } else { [255; 4] }).collect();
    let small = scale_down(Pixels::new(64, 64, columns).unwrap(), 32);
    // Half of white's linear light is 188 in sRGB, not 128.
    let middle = small.rgba()[(16 * 32 + 16) * 4];
    assert!(middle.abs_diff(188) <= 1, "{middle}");
}

#[test]
fn colour_under_transparency_never_bleeds() {
    let rgba: Vec<u8> = (0..64 * 64)
        .flat_map(|i| if i % 64 < 31 { [0, 255, 0, 0] } else { [255, 0, 0, 255] })
        .collect();
    let small = scale_down(Pixels::new(64, 64, rgba).unwrap(), 32);
    assert!(small.iter().all(|pixel| pixel[1] == 0));
    assert!(small.iter().any(|pixel| (1..255).contains(&pixel[3])));
}

#[test]
fn a_mean_by_the_reciprocal_equals_division() {
    for count in 1..=1024 {
        let mean = Mean::of(count);
        let count = count as i32;
        for quotient in (0..=i32::from(i16::MAX)).step_by(89).chain([i32::from(i16::MAX)]) {
            for sum in [-1, 0, 1].map(|by| quotient * count - count / 2 + by) {
                if (0..=count * i32::from(i16::MAX)).contains(&sum) {
                    let rounded = (sum + count / 2) / count;
                    assert_eq!(i32::from(mean.round(sum as u32)), rounded);
                }
            }
        }
    }
}

#[test]
fn all_weights_add_up_to_one_and_stay_inside() {
    for from in (33..=2048).step_by(31) {
        for to in [1, 2, 7, 31, 32] {
            let axis = Axis::new(from, to);
            for taps in axis.taps() {
                let weights = || taps.weights.iter().map(|&weight| i32::from(weight));
                assert_eq!(weights().sum::<i32>(), WEIGHT_ONE);
                assert!(weights().map(i32::abs).sum::<i32>() * SAMPLE_ONE < 1 << 30);
                assert!(taps.first + taps.weights.len() <= axis.cells());
            }
        }
    }
}

#[test]
fn a_mean_is_the_quotient_rounded_to_nearest() {
    for count in 1..1u32 << 11 {
        for mean in (0..=SAMPLE_ONE as u32).step_by(331).chain([SAMPLE_ONE as u32 - 1]) {
            for more in [0, count / 2, count.div_ceil(2), count - 1] {
                let sum = count * mean + more;
                let expected = (u64::from(sum) + u64::from(count / 2)) / u64::from(count);
                let found = Mean::of(count as usize).round(sum);
                assert_eq!(u64::from(found.cast_unsigned()), expected, "{sum} / {count}");
            }
        }
    }
}
