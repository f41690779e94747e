//! Tests of comparing PNGs.

use super::{Pixels, screen};
use crate::picture::{PictureError, PictureOptions, Scale, compare, png};

fn picture(columns: u16, text: &str) -> Vec<u8> {
    png(&screen(columns, 4, text), PictureOptions { scale: Scale::One, ..PictureOptions::default() }).unwrap()
}

/// Returns a PNG with a size in its header, but no data.
fn claim(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = picture(2, "");
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let mut sum = flate2::Crc::new();
    sum.update(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&sum.sum().to_be_bytes());
    bytes
}

#[test]
fn the_same_picture_is_the_same() {
    let golden = picture(20, "wheel\r\n\x1b[31mhouse");
    let comparison = compare(&golden, &golden, 0.0).unwrap();
    assert!(comparison.same);
    assert_eq!((comparison.differing, comparison.total, comparison.ratio), (0, 20 * 9 * 4 * 18, 0.0));
    let diff = Pixels::decode(&comparison.diff);
    assert!(diff.rows.iter().flatten().all(|[red, green, blue]| *red <= 64 && *green <= 64 && *blue <= 64));
    assert!(diff.rows.iter().flatten().any(|pixel| *pixel != [0, 0, 0]), "the golden picture shows through");
}

#[test]
fn one_changed_cell_is_noticed_and_shown() {
    let golden = picture(20, "wheel\r\nhouse");
    for other in [
        "wheel\r\nhouze",
        "wheel\r\nhou\x1b[1ms\x1b[me",
        "wheel\r\nhou\x1b[38;5;250ms\x1b[me",
        "wheel\r\nhou\x1b[4ms\x1b[me",
    ] {
        let comparison = compare(&golden, &picture(20, other), 0.0).unwrap();
        assert!(!comparison.same && comparison.differing > 0, "{other}");
        assert!(comparison.differing <= 9 * 18 && comparison.ratio < 0.02, "{other}");
        let red: Vec<(usize, usize)> = (0..4 * 18)
            .flat_map(|y| (0..20 * 9).map(move |x| (x, y)))
            .filter(|(x, y)| Pixels::decode(&comparison.diff).rows[*y][*x] == [255, 0, 0])
            .collect();
        assert_eq!(red.len() as u64, comparison.differing);
        assert!(red.iter().all(|(x, y)| (27..36).contains(x) && (18..36).contains(y)), "{other}");
    }
}

#[test]
fn the_threshold_is_the_share_that_may_differ() {
    let (golden, actual) = (picture(20, "wheel"), picture(20, "whee1"));
    let ratio = compare(&golden, &actual, 0.0).unwrap().ratio;
    assert!(compare(&golden, &actual, ratio).unwrap().same);
    assert!(!compare(&golden, &actual, ratio / 2.0).unwrap().same);
    assert!(compare(&golden, &actual, 1.0).unwrap().same);
    for threshold in [-0.1, 1.1, f64::INFINITY] {
        assert_eq!(compare(&golden, &actual, threshold), Err(PictureError::Threshold(threshold)));
    }
    assert!(matches!(compare(&golden, &actual, f64::NAN), Err(PictureError::Threshold(_))));
}

#[test]
fn pictures_of_two_sizes_are_never_the_same() {
    let comparison = compare(&picture(20, "wheel"), &picture(21, "wheel"), 1.0).unwrap();
    assert!(!comparison.same);
    assert_eq!((comparison.differing, comparison.total), (9 * 4 * 18, 21 * 9 * 4 * 18));
    let diff = Pixels::decode(&comparison.diff);
    assert_eq!((diff.width, diff.height), (21 * 9, 4 * 18));
    assert_eq!(diff.rows[0][20 * 9], [255, 0, 0]);
}

#[test]
fn colours_that_differ_by_rounding_are_the_same() {
    let golden = picture(4, "\x1b[48;2;100;100;100m    ");
    assert!(compare(&golden, &picture(4, "\x1b[48;2;101;99;102m    "), 0.0).unwrap().same);
    assert!(!compare(&golden, &picture(4, "\x1b[48;2;100;100;103m    "), 0.0).unwrap().same);
}

#[test]
fn pictures_of_other_programs_are_read() {
    let golden = picture(2, "█");
    let pixels = Pixels::decode(&golden);
    let grey: Vec<u8> = pixels.rows.iter().flatten().map(|pixel| pixel[0]).collect();
    let mut other = Vec::new();
    let mut encoder = png::Encoder::new(&mut other, pixels.width as u32, pixels.height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&grey).unwrap();
    assert!(compare(&golden, &other, 0.0).unwrap().same);

    let mut other = Vec::new();
    let mut encoder = png::Encoder::new(&mut other, pixels.width as u32, pixels.height as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(vec![0, 0, 0, 229, 229, 229]);
    let indexed: Vec<u8> = grey.iter().map(|grey| u8::from(*grey > 0)).collect();
    encoder.write_header().unwrap().write_image_data(&indexed).unwrap();
    assert!(compare(&golden, &other, 0.0).unwrap().same);
}

#[test]
fn invalid_pictures_are_reported() {
    let good = picture(2, "");
    for broken in [&b""[..], b"GIF89a", &good[..good.len() / 2]] {
        assert!(matches!(compare(broken, &good, 0.0), Err(PictureError::Unreadable { which: "golden", .. })));
        assert!(matches!(compare(&good, broken, 0.0), Err(PictureError::Unreadable { which: "actual", .. })));
    }
    assert!(
        compare(b"", &good, 0.0).unwrap_err().to_string().starts_with("the golden picture is not a readable PNG: ")
    );
}

#[test]
fn a_huge_picture_is_refused_before_memory_is_taken() {
    let good = picture(2, "");
    for (width, height) in [(100_000, 100_000), (1 << 30, 1 << 30), (1, 1 << 30)] {
        let error = PictureError::TooLarge { width: u64::from(width), height: u64::from(height) };
        assert_eq!(compare(&claim(width, height), &good, 0.0), Err(error.clone()));
        assert_eq!(compare(&good, &claim(width, height), 0.0), Err(error));
    }
    // Each picture is small, but the difference image of both is not.
    let crossed = compare(&claim(60_000, 100), &claim(100, 60_000), 0.0);
    assert_eq!(crossed, Err(PictureError::TooLarge { width: 60_000, height: 60_000 }));
}
