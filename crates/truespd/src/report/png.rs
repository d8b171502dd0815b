//! A small picture of a few colours as PNG (RFC 2083): each pixel is the number of its colour.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// A picture, row by row from the top. Colour 0 is transparent; `colours` holds red, green and blue of 1 and up.
///
/// # Panics
/// When the pixels do not fill the rows, or there are more than 255 colours.
pub(super) fn picture(width: usize, pixels: &[u8], colours: &[[u8; 3]]) -> Vec<u8> {
    assert!(
        width > 0 && pixels.len().is_multiple_of(width) && colours.len() < 256,
        "a picture has whole rows"
    );
    let height = pixels.len() / width;
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    // Eight bits for each pixel, colours by number, no interlacing.
    let size = [width as u32, height as u32].map(u32::to_be_bytes).concat();
    push(&mut out, b"IHDR", &[&size[..], &[8, 3, 0, 0, 0]].concat());
    push(&mut out, b"PLTE", &[&[[0; 3]], colours].concat().concat());
    push(&mut out, b"tRNS", &[0]);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    for row in pixels.chunks(width) {
        // Each row begins with its filter: none.
        packed.write_all(&[0]).and_then(|()| packed.write_all(row)).expect("writing to memory cannot fail");
    }
    push(&mut out, b"IDAT", &packed.finish().expect("writing to memory cannot fail"));
    push(&mut out, b"IEND", &[]);
    out
}

/// A part of the file: its length, its kind, what it holds, and a checksum of kind and content.
fn push(out: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) {
    out.extend((content.len() as u32).to_be_bytes());
    let mut sum = Crc::new();
    for part in [&kind[..], content] {
        sum.update(part);
        out.extend(part);
    }
    out.extend(sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn a_picture_has_its_parts_and_pixels() {
        let made = picture(3, &[0, 1, 2, 2, 1, 0], &[[1, 2, 3], [4, 5, 6]]);
        assert!(made.starts_with(b"\x89PNG\r\n\x1a\n"));
        let (mut rest, mut parts) = (&made[8..], Vec::new());
        while !rest.is_empty() {
            let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
            let mut sum = Crc::new();
            sum.update(&rest[4..8 + length]);
            assert_eq!(rest[8 + length..12 + length], sum.sum().to_be_bytes());
            parts.push((rest[4..8].to_vec(), rest[8..8 + length].to_vec()));
            rest = &rest[12 + length..];
        }
        let kinds: Vec<_> = parts.iter().map(|(kind, _)| String::from_utf8(kind.clone()).unwrap()).collect();
        assert_eq!(kinds, ["IHDR", "PLTE", "tRNS", "IDAT", "IEND"]);
        assert_eq!(parts[0].1, [0, 0, 0, 3, 0, 0, 0, 2, 8, 3, 0, 0, 0]);
        assert_eq!(parts[1].1, [0, 0, 0, 1, 2, 3, 4, 5, 6]);
        let mut pixels = Vec::new();
        ZlibDecoder::new(&parts[3].1[..]).read_to_end(&mut pixels).unwrap();
        assert_eq!(pixels, [0, 0, 1, 2, 0, 2, 1, 0]);
    }

    #[test]
    #[should_panic(expected = "whole rows")]
    fn half_rows_are_a_mistake() {
        picture(3, &[0, 1], &[[0; 3]]);
    }
}
