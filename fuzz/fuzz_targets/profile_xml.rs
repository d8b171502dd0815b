//! An XML profile, in UTF-8 or UTF-16.

#![no_main]

use libfuzzer_sys::fuzz_target;
use truespd_core::profile::{validate, xml};

fuzz_target!(|input: &[u8]| {
    match xml::read_bytes(input) {
        Ok(profile) => {
            validate(&profile, true);
            let written = xml::write(&profile, 0);
            if let Ok(again) = xml::read(&written) {
                assert_eq!(xml::write(&again, 0), written);
            }
        }
        Err(error) => assert!(error.to_string().len() > 5),
    }
});
