//! The names guard: words with a capital inside a sentence. The capital of a first word says nothing.

use crate::judge::form::Token;
use crate::judge::items::Item;

/// The names of a text.
pub(super) fn read(tokens: &[&Token]) -> Vec<Item> {
    let mut names = Vec::new();
    for token in tokens {
        if token.capital && !token.is_item() && token.text.chars().nth(1).is_some() {
            names.push(Item::new(token.text.to_lowercase(), "", &token.text));
        }
    }
    names
}
