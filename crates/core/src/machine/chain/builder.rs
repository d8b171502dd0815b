//! Puts the layers together, each once.

use std::collections::HashMap;

use super::layer::Layer;
use crate::machine::mounts::{Mount, read_mounts};
use crate::machine::roots::Roots;

/// Builds the list, each file and device once.
pub(super) struct Builder<'a> {
    pub(super) roots: &'a Roots,
    pub(super) mounts: Vec<Mount>,
    pub(super) layers: Vec<Layer>,
    /// Where a device or file stands in the list, by name.
    pub(super) known: HashMap<String, usize>,
    /// The layers above the present one: none of them can be below itself.
    pub(super) open: Vec<usize>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(roots: &'a Roots) -> Self {
        let mounts = read_mounts(roots).unwrap_or_default();
        Builder { roots, mounts, layers: Vec::new(), known: HashMap::new(), open: Vec::new() }
    }

    /// Adds `layer` and, by calling `descend`, what lies below it. `key` names it among all layers; what is known by
    /// it already is not looked at again.
    pub(super) fn add(
        &mut self,
        key: &str,
        layer: impl FnOnce(&Self) -> Layer,
        descend: impl FnOnce(&mut Self) -> Vec<usize>,
    ) -> usize {
        if let Some(&known) = self.known.get(key) {
            return known;
        }
        let at = self.layers.len();
        let layer = layer(self);
        self.layers.push(layer);
        self.known.insert(key.to_string(), at);
        self.open.push(at);
        let mut below = descend(self);
        below.retain(|b| !self.open.contains(b));
        below.dedup();
        self.open.pop();
        self.layers[at].below = below;
        at
    }

    /// Whether the trees are those of this machine, so that its paths may be asked.
    pub(super) fn is_live(&self) -> bool {
        *self.roots == Roots::default()
    }
}
