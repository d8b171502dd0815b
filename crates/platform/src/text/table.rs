//! Tables of text, as narrow as a terminal.

use super::{columns_of, end_of, printable, start_of};

/// Columns between two columns of a table.
const GAP: usize = 2;

/// A column of a table that is made as narrow as a terminal.
#[derive(Debug, Clone)]
pub struct Column {
    /// What stands above its cells.
    pub head: String,
    /// Its cells, one for each row.
    pub cells: Vec<String>,
    /// Its cells end at one place.
    pub is_number: bool,
    /// What becomes of it where there is no room for all.
    pub room: Room,
}

/// What becomes of a column where there is no room for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// It is shown at any width.
    Stays,
    /// Left out: the largest number first.
    Goes(u8),
    /// Its cells keep their start, this many columns of it at least; then as the others.
    Start(usize, u8),
    /// Its cells, paths, keep their end.
    End(usize, u8),
}

impl Column {
    /// Of words, which begin at one place.
    pub fn words(head: impl Into<String>, cells: Vec<String>, room: Room) -> Self {
        Column { head: head.into(), cells, is_number: false, room }
    }

    /// Of numbers, which end at one place.
    pub fn numbers(head: impl Into<String>, cells: Vec<String>, room: Room) -> Self {
        Column { head: head.into(), cells, is_number: true, room }
    }

    fn width(&self) -> usize {
        self.cells.iter().map(|cell| columns_of(cell)).max().unwrap_or(0).max(columns_of(&self.head))
    }

    fn rank(&self) -> u8 {
        match self.room {
            Room::Stays => 0,
            Room::Goes(rank) | Room::Start(_, rank) | Room::End(_, rank) => rank,
        }
    }

    /// Makes its cells narrower, to `width`; whether they may be so narrow.
    fn narrow(&mut self, width: usize) -> bool {
        let (least, shorten): (usize, fn(&str, usize) -> String) = match self.room {
            Room::Stays | Room::Goes(_) => return false,
            Room::Start(least, _) => (least, start_of),
            Room::End(least, _) => (least, end_of),
        };
        if width < least.max(columns_of(&self.head)) {
            return false;
        }
        for cell in &mut self.cells {
            *cell = shorten(cell, width);
        }
        true
    }
}

/// A table of columns, those without any value left out, in so many columns of a terminal: what does not fit is made
/// shorter or left out. Without a terminal everything is shown.
pub fn fitted(mut kept: Vec<Column>, terminal: Option<usize>) -> String {
    for column in &mut kept {
        column.cells.iter_mut().for_each(|cell| *cell = printable(cell));
    }
    kept.retain(|column| column.cells.iter().any(|cell| !cell.is_empty() && cell != "-"));
    while let Some(room) = terminal {
        let wide: usize = kept.iter().map(Column::width).sum::<usize>() + GAP * kept.len().saturating_sub(1);
        if wide <= room {
            break;
        }
        let last = (0..kept.len()).max_by_key(|place| kept[*place].rank());
        let Some(place) = last.filter(|place| kept[*place].rank() > 0) else { break };
        let width = kept[place].width();
        if !kept[place].narrow(width.saturating_sub(wide - room)) {
            kept.remove(place);
        }
    }
    let is_number: Vec<bool> = kept.iter().map(|column| column.is_number).collect();
    let rows = kept.first().map_or(0, |column| column.cells.len());
    let mut lines = vec![kept.iter().map(|column| column.head.clone()).collect::<Vec<_>>()];
    lines.extend((0..rows).map(|row| kept.iter().map(|column| column.cells[row].clone()).collect()));
    aligned(lines, &is_number)
}

/// A table whose columns are as wide as their values, which are made printable; `is_number` columns end at
/// one place. Ends with a line end.
pub fn aligned(mut rows: Vec<Vec<String>>, is_number: &[bool]) -> String {
    rows.iter_mut().flatten().for_each(|cell| *cell = printable(cell));
    let mut widths = vec![0; is_number.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = columns_of(cell).max(*width);
        }
    }
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, value) in row.iter().enumerate() {
            let gap = " ".repeat(widths[column] - columns_of(value));
            let cell = if is_number[column] { format!("{gap}{value}") } else { format!("{value}{gap}") };
            line.push_str(&" ".repeat(if column == 0 { 0 } else { GAP }));
            line.push_str(&cell);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
