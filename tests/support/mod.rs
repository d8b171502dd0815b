//! What several integration tests share. Each test file uses its own part of it.
#![allow(dead_code)]

pub mod documents;
pub mod program;
pub mod strict_text;
