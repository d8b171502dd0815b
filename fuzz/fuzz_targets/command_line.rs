//! DiskSpd's command line: the arguments, separated by NUL.

#![no_main]

use diskspd::grammar::parse::{Invocation, parse};
use libfuzzer_sys::fuzz_target;
use truespd_core::profile::{Severity, validate, xml};

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let arguments: Vec<String> = text.split('\0').map(str::to_string).collect();
    match parse(&arguments, "diskspd", &|| 12_345) {
        Ok(Invocation::Run(request)) if request.profile_file.is_none() => {
            let findings = validate(&request.profile, !request.profile_only);
            assert!(findings.iter().all(|finding| finding.severity == Severity::Warning), "{findings:?}");
            // What is run can be written as a profile, and that is the same run.
            let written = xml::write(&request.profile, 0);
            if let Ok(again) = xml::read(&written) {
                assert_eq!(xml::write(&again, 0), written);
            }
        }
        Ok(_) => {}
        Err(refusals) => assert!(refusals.to_string().len() > 5),
    }
});
