//! Threads to processors: `-a` in all its forms and `-n` (`command-line.md` §5.3, §14).

use std::ops::Range;

use super::super::draft::Draft;
use super::alone;
use crate::grammar::value::{Position, Slip, Value, digits, length};
use truespd_core::profile::{EfficiencyOrder, ProcessorId, WholeGroup};

/// Largest processor number in a group other than 0, as in DiskSpd.
const PROCESSOR_MAX: u64 = 255;
/// Largest processor number without a group: any Linux CPU id a machine could have.
const CPU_MAX: u64 = 65535;
const GROUP_MAX: u64 = 65535;

const LEGAL: &str = "-a[g<group>,]<cpu>[-<cpu>][,...]: processors and ranges of them separated by commas, such as \
                     -a0,2,8-11 or -ag0,0,1,g1,0; -ag<group> alone for a whole group";

pub fn off(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    alone(d, v, "-n");
    d.span.disable_affinity = true;
    Ok(())
}

/// An explicit list, or the default stated (`-a`, `-ag`).
pub fn list(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if v.text.is_empty() || v.text == "g" {
        return Ok(());
    }
    let elements: Vec<&str> = v.text.split(',').collect();
    let mut start = 0;
    let mut group = 0;
    let mut pending: Option<Range<usize>> = None;
    for element in &elements {
        let here = start..start + length(element);
        start = here.end + 1;
        if let Some(number) = element.strip_prefix('g') {
            if let Some(earlier) = pending {
                return Err(Slip::new("a group follows a group without any processor")
                    .at(earlier)
                    .legal(LEGAL));
            }
            group = read(number, here.start + 1, GROUP_MAX, "group")?;
            pending = Some(here);
        } else {
            processors(d, element, here, group)?;
            pending = None;
        }
    }
    match pending {
        None => Ok(()),
        Some(_) if elements.len() == 1 => {
            d.span.affinity_groups.push(WholeGroup { group, position: d.span.affinity.len() });
            Ok(())
        }
        Some(here) => Err(Slip::new("the list ends with a group without any processor")
            .at(here)
            .legal(LEGAL)
            .hint(format!("for the whole group, give it as an option of its own: -ag{group}"))),
    }
}

/// Appends `<cpu>` or `<cpu>-<cpu>`.
fn processors(d: &mut Draft, element: &str, here: Range<usize>, group: u32) -> Result<(), Slip> {
    let max = if group == 0 { CPU_MAX } else { PROCESSOR_MAX };
    let (first, last) = match element.split_once('-') {
        None => {
            let cpu = read(element, here.start, max, "processor")?;
            (cpu, cpu)
        }
        Some((low, high)) => {
            let first = read(low, here.start, max, "processor")?;
            let last = read(high, here.start + length(low) + 1, max, "processor")?;
            if last < first {
                return Err(Slip::new(format!("the range {element} runs backwards")).at(here).legal(LEGAL));
            }
            (first, last)
        }
    };
    d.span.affinity.extend((first..=last).map(|processor| ProcessorId { group, processor }));
    Ok(())
}

fn read(text: &str, start: usize, max: u64, what: &str) -> Result<u32, Slip> {
    let (value, count) = digits(text);
    if let Some(c) = text.chars().nth(count) {
        let slip = Slip::new(format!("'{c}' is not expected here"))
            .at(start + count..start + count + 1)
            .legal(LEGAL);
        return Err(if c == 'g' && count > 0 { slip.hint("a comma goes before the group") } else { slip });
    }
    if count == 0 {
        return Err(Slip::new(format!("a {what} number is missing")).at(start..start).legal(LEGAL));
    }
    match value.filter(|&n| n <= max).and_then(|n| u32::try_from(n).ok()) {
        Some(n) => Ok(n),
        None => Err(Slip::new(format!("{what} {text} is out of range"))
            .at(start..start + count)
            .legal(format!("{what} numbers from 0 to {max}"))),
    }
}

/// `-ac -as -ap -aP -ae -aE -aup`, which may be joined (DiskSpd 2.3).
pub fn placement(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    const LEGAL: &str = "-a and any of c, s and one of p, P, e, E, up, each once: -ac, -acs, -acsE, -aup";
    let letters: Vec<char> = v.text.chars().collect();
    let mut i = 0;
    while i < letters.len() {
        let here = Position { word: v.word, char: Some(i) };
        let (state, width) = match letters[i] {
            'c' => (&mut d.placement.cores, 1),
            's' => (&mut d.placement.groups, 1),
            'p' | 'P' | 'e' | 'E' => (&mut d.placement.efficiency, 1),
            'u' if letters.get(i + 1) == Some(&'p') => (&mut d.placement.efficiency, 2),
            other => {
                return Err(Slip::new(format!("'{other}' is not a placement")).at(i..i + 1).legal(LEGAL));
            }
        };
        if let Some(earlier) = state.replace(here) {
            return Err(Slip::new("this part of the placement is given twice")
                .at(i..i + width)
                .with(earlier)
                .legal(LEGAL));
        }
        let placement = &mut d.span.placement;
        match letters[i] {
            'c' => placement.cores_first = true,
            's' => placement.span_groups = true,
            'p' => placement.efficiency = EfficiencyOrder::PerformanceFirst,
            'P' => placement.efficiency = EfficiencyOrder::FillPerformanceFirst,
            'e' => placement.efficiency = EfficiencyOrder::EfficiencyFirst,
            'E' => placement.efficiency = EfficiencyOrder::FillEfficiencyFirst,
            _ => placement.efficiency = EfficiencyOrder::Ignore,
        }
        i += width;
    }
    Ok(())
}
