//! One judged run, or a series of them, on a target: what surrounds runs, and what undoes it.

pub mod caretaker;
pub mod undo;
