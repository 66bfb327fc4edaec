//! Personal data and secrets are taken out of a text before it leaves the process, and put back in
//! what comes back.
//!
//! A [`Mask`] is made of all texts of one question: what is equal in them has one placeholder, such
//! as `{EMAIL_1}`, so that an LLM can still tell equal from different. What is restored is verified
//! like any other text, so a placeholder that was lost, doubled or swapped is a lost, doubled or
//! swapped address.

mod find;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use self::find::find;

/// What to do with personal data and secrets in texts that an LLM is to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pii {
    /// Placeholders go out, the data is put back in what comes back.
    #[default]
    Mask,
    /// Memories that hold some are not sent at all.
    Block,
    /// Everything is sent as it is.
    Allow,
}

/// What sort of data a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A key, token or password.
    Secret,
    /// An e-mail address.
    Email,
    /// A bank account.
    Iban,
    /// The number of an identity card, passport, tax payer or insured person.
    Id,
    /// A payment card.
    Card,
    /// A phone number.
    Phone,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Secret => "SECRET",
            Self::Email => "EMAIL",
            Self::Iban => "IBAN",
            Self::Id => "ID",
            Self::Card => "CARD",
            Self::Phone => "PHONE",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Secret => "secret",
            Self::Email => "e-mail address",
            Self::Iban => "bank account",
            Self::Id => "identity number",
            Self::Card => "payment card",
            Self::Phone => "phone number",
        })
    }
}

#[expect(clippy::expect_used, reason = "the pattern is constant and tested")]
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{(SECRET|EMAIL|IBAN|ID|CARD|PHONE)_(\d+)\}").expect("a valid pattern")
});

/// A placeholder in an answer that was in no text sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the placeholder {0} was never given")]
pub struct Unknown(pub String);

/// What was found in some texts, with its placeholders.
#[derive(Clone, Debug, Default)]
pub struct Mask {
    /// Kind, placeholder, original.
    hidden: Vec<(Kind, String, String)>,
    /// Placeholders that the texts themselves hold.
    own: BTreeSet<String>,
}

impl Mask {
    /// A mask for these texts.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str> + Clone) -> Self {
        let own: BTreeSet<String> = texts
            .clone()
            .into_iter()
            .flat_map(|text| PLACEHOLDER.find_iter(text).map(|m| m.as_str().to_owned()))
            .collect();
        let mut mask = Self {
            hidden: Vec::new(),
            own,
        };
        for text in texts {
            for (kind, range) in find(text) {
                mask.hide_one(kind, &text[range]);
            }
        }
        mask
    }

    fn hide_one(&mut self, kind: Kind, original: &str) {
        if self.hidden.iter().any(|(_, _, known)| known == original) {
            return;
        }
        let mut number = self.hidden.iter().filter(|(k, _, _)| *k == kind).count() + 1;
        let name = |number| format!("{{{}_{number}}}", kind.name());
        let taken = |name: &String| {
            self.own.contains(name) || self.hidden.iter().any(|(_, known, _)| known == name)
        };
        while taken(&name(number)) {
            number += 1;
        }
        self.hidden.push((kind, name(number), original.to_owned()));
    }

    /// What sorts of data were found.
    pub fn kinds(&self) -> BTreeSet<Kind> {
        self.hidden.iter().map(|(kind, _, _)| *kind).collect()
    }

    /// The text with placeholders. What the mask does not know (in a text that it was not made of)
    /// is left out.
    pub fn hide(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (_, range) in find(text) {
            out.push_str(&text[at..range.start]);
            let original = &text[range.clone()];
            let known = self.hidden.iter().find(|(_, _, known)| known == original);
            out.push_str(known.map_or("…", |(_, placeholder, _)| placeholder));
            at = range.end;
        }
        out.push_str(&text[at..]);
        out
    }

    /// The text with the originals.
    ///
    /// # Errors
    /// [`Unknown`] for a placeholder that stands for nothing and that no text had.
    pub fn restore(&self, text: &str) -> Result<String, Unknown> {
        let mut unknown = None;
        let restored = PLACEHOLDER.replace_all(text, |found: &Captures<'_>| {
            let placeholder = &found[0];
            let known = self
                .hidden
                .iter()
                .find(|(_, known, _)| known == placeholder);
            if known.is_none() && !self.own.contains(placeholder) {
                unknown.get_or_insert_with(|| Unknown(placeholder.to_owned()));
            }
            known.map_or_else(
                || placeholder.to_owned(),
                |(_, _, original)| original.clone(),
            )
        });
        match unknown {
            Some(unknown) => Err(unknown),
            None => Ok(restored.into_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
