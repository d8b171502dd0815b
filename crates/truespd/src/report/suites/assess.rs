//! `assess`: winsat's figures beside Microsoft's limits.

use super::super::Piece;
use super::super::html::first_large;
use super::super::table::Cell;
use super::words_table;
use crate::suite::assess::{Assessment, Check, Figure, SOURCE};

/// Whether the disk passes, every figure with its limit, the verdict, and what winsat does not tell.
pub fn assess(assessment: &Assessment) -> Vec<Piece> {
    let not_passed = assessment.not_passed();
    let has_limits = assessment.figures.iter().any(|figure| figure.check() != Check::NoLimit);
    let answer = match (has_limits, not_passed.as_slice()) {
        (false, _) => "Microsoft published no limit for these figures.".to_string(),
        (true, []) => "The disk meets all of Microsoft's limits.".to_string(),
        (true, all) => format!("The disk does not meet all of Microsoft's limits: {}.", all.join("; ")),
    };
    let row = |figure: &Figure| {
        let cells = vec![
            Cell::Text(figure.shown()),
            Cell::Text(figure.limit_shown()),
            Cell::Text(figure.check().word().to_string()),
            match figure.value {
                Some(_) => Cell::Grade(figure.grade),
                None => Cell::Text("-".into()),
            },
        ];
        // winsat's labels have two blanks for its columns.
        (figure.label.split_whitespace().collect::<Vec<_>>().join(" "), cells)
    };
    let rows = assessment.figures.iter().map(row).collect();
    vec![
        Piece::Answer(answer),
        words_table("Figures and limits", &["figure", "measured", "limit", "result", "verdict"], rows),
        Piece::Note(format!("Limits: {SOURCE}. Numbers in the names of figures are block sizes in KiB.")),
        Piece::Verdict(assessment.verdict.clone()),
        Piece::Note(first_large(&assessment.approximate())),
    ]
}
