//! Bytes to text: UTF-8 or UTF-16, told by the byte order mark or the first character.

use std::borrow::Cow;

use super::XmlError;
use super::error::quoted;

const LEGAL: &str = "UTF-8 with or without byte order mark, or UTF-16; save the profile in one of these";

/// The text of a file, without a byte order mark.
///
/// # Errors
/// Another encoding, or bytes that the encoding does not allow.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, XmlError> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] | [b'<', 0, 0, 0, ..] | [0, 0, 0, b'<', ..] => {
            Err(XmlError::whole("the file is encoded in UTF-32", LEGAL))
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest).map(Cow::Borrowed),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes).map(Cow::Owned),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes).map(Cow::Owned),
        [b'<', 0, ..] => utf16(bytes, u16::from_le_bytes).map(Cow::Owned),
        [0, b'<', ..] => utf16(bytes, u16::from_be_bytes).map(Cow::Owned),
        _ => {
            let text = utf8(bytes)?;
            match declared_encoding(text) {
                Some(name) if !text.is_ascii() && !is_utf8(name) => Err(XmlError::whole(
                    format!("the file says that it is encoded in {}", quoted(name)),
                    LEGAL,
                )),
                _ => Ok(Cow::Borrowed(text)),
            }
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, XmlError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let byte = bytes[error.valid_up_to()];
        let mut reason = format!("the byte 0x{byte:02x} here is not UTF-8");
        if let Some(name) = declared_encoding(&valid).filter(|name| !is_utf8(name)) {
            reason.push_str(&format!("; the file says that it is encoded in {}", quoted(name)));
        }
        XmlError::at(&valid, valid.len(), reason, LEGAL.to_string())
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, XmlError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(pairs.len());
    for c in char::decode_utf16(pairs.iter().map(|&pair| unit(pair))) {
        match c {
            Ok(c) => text.push(c),
            Err(_) => {
                let reason = "here is half a UTF-16 character";
                return Err(XmlError::at(&text, text.len(), reason, LEGAL.to_string()));
            }
        }
    }
    if !rest.is_empty() {
        let reason = "the file ends within a UTF-16 character";
        return Err(XmlError::at(&text, text.len(), reason, LEGAL.to_string()));
    }
    Ok(text)
}

/// The encoding that an XML declaration names.
fn declared_encoding(text: &str) -> Option<&str> {
    let declaration = text.strip_prefix("<?xml")?;
    let declaration = &declaration[..declaration.find("?>")?];
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split(quote).next()
}

fn is_utf8(name: &str) -> bool {
    name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<a>\u{e9}\u{1d11e}</a>";

    fn units(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn the_encodings_that_are_read() {
        let (le, be) = (units(TEXT, u16::to_le_bytes), units(TEXT, u16::to_be_bytes));
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        for bytes in [
            TEXT.as_bytes().to_vec(),
            marked(&[0xef, 0xbb, 0xbf], TEXT.as_bytes()),
            le.clone(),
            be.clone(),
            marked(&[0xff, 0xfe], &le),
            marked(&[0xfe, 0xff], &be),
        ] {
            assert_eq!(decode(&bytes).expect("is read"), TEXT);
        }
    }

    #[test]
    fn the_others_are_refused_in_words() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?>\n<a>\xe9</a>";
        let error = decode(latin).expect_err("is refused");
        assert_eq!((error.line, error.column), (2, 4));
        assert!(error.reason.contains("0xe9") && error.reason.contains("ISO-8859-1"), "{error}");

        let mislabelled = "<?xml version=\"1.0\" encoding=\"windows-1252\"?><a>\u{e9}</a>";
        assert!(decode(mislabelled.as_bytes()).expect_err("is refused").reason.contains("windows-1252"));
        let plain = mislabelled.replace('\u{e9}', "e");
        assert_eq!(decode(plain.as_bytes()).expect("ASCII is the same in all of them"), plain);

        for bytes in [
            &[0xff, 0xfe, 0, 0, b'<', 0, 0, 0][..],
            &[0xff, 0xfe, b'<', 0, b'a'],
            &[0xff, 0xfe, 0x00, 0xd8, b'a', 0],
            &[0xef, 0xbb, 0xbf, 0xff],
        ] {
            assert!(decode(bytes).is_err(), "{bytes:x?}");
        }
    }
}
