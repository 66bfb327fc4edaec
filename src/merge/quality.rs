//! What merges did to the memories they are about, in numbers: how much shorter, and whether all that was named is.

use serde::Serialize;

use super::history::replaced;
use crate::memory::PlannedMerge;
use crate::summarize::verify::Entities;

/// Memories, characters and names of some merges, before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// Memories before and after.
    pub memories: [usize; 2],
    /// Characters of their texts before and after.
    pub characters: [usize; 2],
    /// What they named, and where it is now.
    pub entities: Entities,
}

impl Quality {
    /// The sums over some merges.
    pub fn of<'a>(merges: impl IntoIterator<Item = &'a PlannedMerge>) -> Self {
        let mut sums = Self::default();
        for merge in merges {
            let sources: Vec<&str> = merge.sources.iter().map(|source| &*source.text).collect();
            let length = |text: &&str| text.chars().count();
            sums.add(Self {
                memories: [sources.len(), 1],
                characters: [sources.iter().map(length).sum(), length(&&*merge.text)],
                entities: Entities::of(&sources, &merge.text, &replaced(merge)),
            });
        }
        sums
    }

    /// Both together.
    pub fn add(&mut self, other: Self) {
        for side in 0..2 {
            self.memories[side] += other.memories[side];
            self.characters[side] += other.characters[side];
        }
        self.entities.add(other.entities);
    }

    /// Characters after over those before; `None` where nothing was merged.
    pub fn compression(&self) -> Option<f64> {
        let [before, after] = self.characters;
        (before > 0).then(|| after as f64 / before as f64)
    }
}

impl Serialize for Quality {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Sides {
            before: usize,
            after: usize,
        }
        #[derive(Serialize)]
        struct Shown {
            memories: Sides,
            characters: Sides,
            compression: Option<f64>,
            entities: Entities,
            entity_recall: Option<f64>,
        }
        let sides = |[before, after]: [usize; 2]| Sides { before, after };
        Shown {
            memories: sides(self.memories),
            characters: sides(self.characters),
            compression: self.compression(),
            entities: self.entities,
            entity_recall: self.entities.recall(),
        }
        .serialize(serializer)
    }
}

impl std::fmt::Display for Quality {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            memories: [many, few],
            characters: [long, short],
            entities,
        } = self;
        let kept = entities.in_text + entities.in_history;
        write!(
            f,
            "the merges: {many} memories became {few}, {long} characters {short}; of {} names, numbers, dates and \
             identifiers {kept} are kept, {} of them in a history",
            entities.named, entities.in_history
        )
    }
}
