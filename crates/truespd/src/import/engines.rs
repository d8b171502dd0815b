//! The engine that a job gets.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// It does one I/O at a time.
    Synchronous,
    Mapped,
    /// The engine of this name.
    Named(&'static str),
    Other,
}

impl Engine {
    /// What `--engine` takes; nothing where another option says it.
    pub fn option(self, polls: bool) -> String {
        match self {
            Engine::Named("io_uring") if polls => "io_uring_poll".into(),
            Engine::Named("nvme") if polls => "nvme_poll".into(),
            Engine::Named(name) => name.into(),
            Engine::Synchronous => "psync".into(),
            // -Sm says it.
            Engine::Mapped | Engine::Other => String::new(),
        }
    }
}
