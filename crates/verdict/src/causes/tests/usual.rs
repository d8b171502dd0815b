use super::*;
use truespd_core::profile::Throughput;
use truespd_core::result::Usual;

/// The clean 20,000 IOPS beside earlier results.
fn beside(low: f64, median: f64, high: f64) -> Doc {
    let usual = Usual { metric: "iops".into(), runs: 31, low, median, high };
    doc(|d| d.document.usual = Some(usual))
}

#[test]
fn figures_far_outside_of_the_usual_range() {
    says(
        &beside(24_500.0, 25_000.0, 25_300.0).fires("unusual"),
        FindingGrade::Remark,
        &[
            "The figure of 20,000 IOPS is worse than usual for this disk, by 20 % of the usual median. Of 31 earlier \
           certified results, nine of ten lie from 24,500 to 25,300 IOPS. The cause is not known.",
        ],
    );
    says(
        &beside(9_900.0, 10_000.0, 10_100.0).fires("unusual"),
        FindingGrade::Remark,
        &["20,000 IOPS is better than usual for this disk, by 100 %"],
    );
    // Within, and outside by half of the width, or by 2 % of the median.
    for (low, median, high) in [
        (19_000.0, 20_000.0, 21_000.0),
        (21_000.0, 22_000.0, 23_000.0),
        (20_390.0, 20_400.0, 20_410.0),
        (17_000.0, 18_000.0, 19_000.0),
    ] {
        beside(low, median, high).silent("unusual");
    }
    beside(21_001.0, 22_000.0, 23_000.0).fires("unusual");
    beside(20_410.0, 20_420.0, 20_430.0).fires("unusual");
    Doc::clean().silent("unusual");
}

#[test]
fn a_set_rate_is_judged_by_its_latency() {
    let paced = |low: f64, high: f64| {
        let usual = Usual { metric: "p99".into(), runs: 19, low, median: low, high };
        doc(|d| {
            d.latency = true;
            d.asked.throughput = Some(Throughput::Iops(20_000));
            d.document.usual = Some(usual);
        })
    };
    says(&paced(1e5, 2e5).fires("unusual"), FindingGrade::Remark, &["is worse than usual"]);
    says(&paced(1e9, 2e9).fires("unusual"), FindingGrade::Remark, &["is better than usual"]);
    // A run that measured no latencies cannot be compared.
    let mut without = paced(1e9, 2e9);
    without.latency = false;
    without.silent("unusual");
}
