//! A stored result: whoever can read it can judge it, show it in every form, and read it again from its JSON.

#![no_main]

use diskspd::render::FORMATS;
use libfuzzer_sys::fuzz_target;
use truespd_core::result::json;
use truespd_verdict::judge;

fuzz_target!(|input: &[u8]| {
    match json::read(input) {
        Ok(document) => {
            judge(&document);
            for format in FORMATS {
                let _ = (format.render)(&document);
            }
            let written = json::write(&document);
            let again = json::read(written.as_bytes()).expect("what was written can be read");
            assert_eq!(json::write(&again), written);
        }
        Err(error) => assert!(error.to_string().len() > 5),
    }
});
