//! How much of what texts name is still named by the text that stands for them. Counted, to be watched: the verification
//! has decided already.

use serde::Serialize;

use super::fault::Kind;
use super::saying::Saying;
use crate::judge::items::Item;

/// Names, numbers, dates, identifiers and quotations of texts, and where they are now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Entities {
    /// What the texts name, each counted once.
    pub named: usize,
    /// What of it the text in their place names.
    pub in_text: usize,
    /// What of it only the history of that text names.
    pub in_history: usize,
}

impl Entities {
    /// What `sources` name, and what of it `text` and its `history` name.
    pub fn of(sources: &[&str], text: &str, history: &[&str]) -> Self {
        let text = Saying::read(text);
        let history: Vec<Saying> = history.iter().map(|text| Saying::read(text)).collect();
        let mut found = Self::default();
        let mut seen: Vec<Entity> = Vec::new();
        for source in sources {
            for entity in entities(&Saying::read(source)) {
                if seen.contains(&entity) {
                    continue;
                }
                found.named += 1;
                if entity.is_in(&text) {
                    found.in_text += 1;
                } else if history.iter().any(|saying| entity.is_in(saying)) {
                    found.in_history += 1;
                }
                seen.push(entity);
            }
        }
        found
    }

    /// The counts of both together.
    pub fn add(&mut self, other: Self) {
        self.named += other.named;
        self.in_text += other.in_text;
        self.in_history += other.in_history;
    }

    /// The share that can still be found, 0 … 1; `None` where nothing is named.
    pub fn recall(&self) -> Option<f64> {
        (self.named > 0).then(|| (self.in_text + self.in_history) as f64 / self.named as f64)
    }
}

/// Something that a text names.
enum Entity {
    /// What a guard took.
    Item(Kind, Item),
    /// A capitalised word or a quotation, in comparison form.
    Words(Kind, String),
}

impl PartialEq for Entity {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Item(kind, a), Self::Item(other, b)) => {
                kind == other && (&a.value, &a.unit) == (&b.value, &b.unit)
            }
            (Self::Words(kind, a), Self::Words(other, b)) => (kind, a) == (other, b),
            _ => false,
        }
    }
}

impl Entity {
    fn is_in(&self, saying: &Saying) -> bool {
        match self {
            Self::Item(kind, item) => {
                let items = saying
                    .items()
                    .into_iter()
                    .filter(|(other, _)| other == kind);
                items
                    .flat_map(|(_, items)| items)
                    .any(|other| other.covers(item))
            }
            Self::Words(Kind::Quotation, words) => saying.says(words),
            Self::Words(_, word) => saying.words().any(|other| other.text == *word),
        }
    }
}

fn entities(saying: &Saying) -> Vec<Entity> {
    let items = saying.items().into_iter();
    let mut found: Vec<Entity> = items
        .flat_map(|(kind, items)| {
            items
                .iter()
                .map(move |item| Entity::Item(kind, item.clone()))
        })
        .collect();
    let quotations = saying.quotations.iter().cloned();
    found.extend(quotations.map(|words| Entity::Words(Kind::Quotation, words)));
    let names = saying.words().filter(|word| word.kind() == Kind::Name);
    found.extend(names.map(|word| Entity::Words(Kind::Name, word.text.clone())));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sources: &[&str], text: &str, history: &[&str]) -> [usize; 3] {
        let found = Entities::of(sources, text, history);
        [found.named, found.in_text, found.in_history]
    }

    #[test]
    fn each_thing_that_is_named_is_counted_once_whatever_its_form() {
        let sources = ["Anna has 2 cats", "Anna has two cats named Mia"];
        assert_eq!(of(&sources, "Anna has two cats named Mia", &[]), [3, 3, 0]);
    }

    #[test]
    fn what_is_lost_is_in_neither_and_what_is_past_in_the_history() {
        let sources = ["User works at Acme", "User works at Globex since 2021"];
        assert_eq!(of(&sources, sources[1], &[]), [3, 2, 0]);
        assert_eq!(of(&sources, sources[1], &[sources[0]]), [3, 2, 1]);
        let mut all = Entities::of(&sources, sources[1], &[]);
        assert!((all.recall().unwrap() - 2.0 / 3.0).abs() < 1e-9);
        all.add(Entities::of(&sources, sources[1], &[sources[0]]));
        assert!((all.recall().unwrap() - 5.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn dates_codes_and_quotations_count() {
        let sources = [
            "Flight TP1361 leaves on 5 May 2024",
            "用户说“不要香菜”，5月5日",
        ];
        let [named, in_text, _] = of(&sources, sources[0], &[]);
        assert!(named >= 3 && in_text < named, "{named} {in_text}");
        assert_eq!(
            Entities::of(&["likes tea"], "likes tea", &[]).recall(),
            None
        );
    }
}
