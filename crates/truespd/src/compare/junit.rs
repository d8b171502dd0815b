//! Gates as JUnit XML, which CI systems show: a test case for each gate.

use super::report::{Comparison, GateResult, Held};
use super::words::gate_words;
use truespd_core::profile::xml::Writer;

/// The gates; one that could not be tested and did not fail is skipped, and one that passed for lack of proof says so.
pub fn junit(comparison: &Comparison) -> String {
    let gates = &comparison.gates;
    let failed = gates.iter().filter(|gate| gate.has_failed).count();
    let is_skipped = |gate: &&GateResult| gate.held == Held::NotTested && !gate.has_failed;
    let skipped = gates.iter().filter(is_skipped).count();
    let mut out = Writer::new(0);
    out.lines("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.open("testsuites", &[]);
    out.open(
        "testsuite",
        &[
            ("name", &"truespd compare"),
            ("tests", &gates.len()),
            ("failures", &failed),
            ("errors", &0),
            ("skipped", &skipped),
            ("time", &0),
        ],
    );
    for gate in gates {
        let case: [(&'static str, &dyn std::fmt::Display); 3] =
            [("classname", &"truespd.compare"), ("name", &gate.gate), ("time", &0)];
        if gate.has_failed {
            out.open("testcase", &case);
            out.leaf_with("failure", &[("message", &gate.why), ("type", &"gate")], &gate.why);
            out.close("testcase");
        } else if is_skipped(&gate) {
            out.open("testcase", &case);
            out.empty("skipped", &[("message", &gate.why)]);
            out.close("testcase");
        } else if gate.held == Held::Open {
            out.open("testcase", &case);
            out.leaf("system-out", gate_words(gate));
            out.close("testcase");
        } else {
            out.empty("testcase", &case);
        }
    }
    out.close("testsuite");
    out.close("testsuites");
    out.finish()
}
