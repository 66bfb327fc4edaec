//! All that the guards find in one text, each thing claimed by one guard only.

use super::items::{Item, Rest};
use super::normalize::plain;
use super::{dates, identifiers, negation, numbers, numerals, relative, timeish, times};

/// What the guards found in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    /// Addresses, codes, versions, file names.
    pub(crate) identifiers: Vec<Item>,
    /// Calendar dates, weekdays, times and parts of the day.
    pub(crate) dates: Vec<Item>,
    /// Words such as `today` that mean another time on another day.
    pub(crate) relative: Vec<Item>,
    /// Counts, measures, money.
    pub(crate) numbers: Vec<Item>,
    /// Denials.
    pub(crate) negations: Vec<Item>,
    /// Words for a time that may be another one on another day.
    pub(crate) floating: Vec<String>,
    /// The text without what the guards claimed (denials stay in), case kept.
    pub(crate) rest: String,
}

impl Facts {
    /// Reads a text. The order matters: an address may hold a date, a date holds numbers.
    pub(crate) fn read(text: &str) -> Self {
        let mut rest = Rest::new(plain(text));
        let lower = rest.text.to_lowercase();
        let mut identifiers = identifiers::take_links(&mut rest);
        let negations = negation::read(&rest.text);
        rest.text = numerals::to_digits(&rest.text);
        let relative = relative::take(&mut rest);
        let mut dates = dates::take(&mut rest);
        dates.extend(times::take_parts(&mut rest));
        identifiers.extend(identifiers::take_codes(&mut rest));
        let numbers = numbers::take(&mut rest);
        let mut facts = Self {
            identifiers,
            dates,
            relative,
            numbers,
            negations,
            floating: Vec::new(),
            rest: rest.text,
        };
        facts.floating = timeish::floating(&lower, &facts);
        facts
    }
}
