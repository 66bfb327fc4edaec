//! Texts to token ids, and long texts to windows that the model can take.

use std::ops::Range;

use super::{EmbedError, Manifest};

/// The tokens of one text, without the model's special tokens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tokens {
    /// Ids in the model's vocabulary.
    pub(crate) ids: Vec<u32>,
    /// Whether a token begins a word, parallel to `ids`.
    pub(crate) begins_word: Vec<bool>,
    /// Share of tokens that stand for something the vocabulary does not know; 1 if there are none.
    pub(crate) unknown: f32,
}

/// A model's tokenizer, with nothing cut and nothing padded.
pub(crate) struct Tokenizer {
    inner: tokenizers::Tokenizer,
    unknown_id: u32,
    /// What stands before the text's own tokens: special tokens, then the prefix.
    head: Vec<u32>,
    /// What stands after them.
    tail: Vec<u32>,
    /// The most of the text's own tokens that fit into one input.
    capacity: usize,
}

/// Reads the text of a `tokenizer.json`; the error says what is wrong with it.
///
/// Truncation and padding that such files often switch on (at 128 tokens for this model
/// family) are switched off: the one would drop text in silence, the other costs time.
pub(super) fn whole(json: &[u8]) -> Result<tokenizers::Tokenizer, String> {
    let mut tokenizer = tokenizers::Tokenizer::from_bytes(json)
        .map_err(|error| format!("tokenizer.json cannot be read: {error}"))?;
    tokenizer.with_padding(None);
    tokenizer
        .with_truncation(None)
        .map_err(|error| format!("its truncation cannot be switched off: {error}"))?;
    Ok(tokenizer)
}

impl Tokenizer {
    /// Reads the text of a `tokenizer.json`.
    pub(crate) fn new(json: &[u8], manifest: &Manifest) -> Result<Self, EmbedError> {
        let unfit = |detail: String| EmbedError::ModelUnfit {
            model: manifest.name.clone(),
            detail,
        };
        let inner = whole(json).map_err(unfit)?;
        let unknown_id = inner.token_to_id(&manifest.unknown_token).ok_or_else(|| {
            unfit(format!(
                "tokenizer.json has no token {}",
                manifest.unknown_token
            ))
        })?;
        let (mut head, tail) = special_tokens(&inner)?;
        head.extend(encode(&inner, manifest.prefix.trim_end())?.get_ids());
        let capacity = manifest.max_tokens.saturating_sub(head.len() + tail.len());
        if capacity == 0 {
            return Err(unfit("max_tokens leaves no room for text".to_owned()));
        }
        Ok(Self {
            inner,
            unknown_id,
            head,
            tail,
            capacity,
        })
    }

    /// Tokenizes a text, whatever its length.
    pub(crate) fn tokens(&self, text: &str) -> Result<Tokens, EmbedError> {
        let encoding = encode(&self.inner, text)?;
        let ids = encoding.get_ids().to_vec();
        let words = encoding.get_word_ids();
        let begins_word = (0..ids.len())
            .map(|at| at == 0 || words[at].is_none() || words[at] != words[at - 1])
            .collect();
        let unknown = ids.iter().filter(|id| **id == self.unknown_id).count();
        let unknown = if ids.is_empty() {
            1.0
        } else {
            unknown as f32 / ids.len() as f32
        };
        Ok(Tokens {
            ids,
            begins_word,
            unknown,
        })
    }

    /// The ranges of a text's tokens that are embedded one by one.
    pub(crate) fn windows(&self, tokens: &Tokens) -> Vec<Range<usize>> {
        windows(&tokens.begins_word, self.capacity)
    }

    /// The model's input for a window: special tokens, prefix, the window's tokens.
    pub(crate) fn input(&self, window: &[u32]) -> Vec<u32> {
        [&self.head, window, &self.tail].concat()
    }
}

fn encode(
    tokenizer: &tokenizers::Tokenizer,
    text: &str,
) -> Result<tokenizers::Encoding, EmbedError> {
    tokenizer
        .encode(text, false)
        .map_err(|error| EmbedError::Tokenizer(error.to_string()))
}

/// The special tokens that the tokenizer puts before and after a text.
fn special_tokens(tokenizer: &tokenizers::Tokenizer) -> Result<(Vec<u32>, Vec<u32>), EmbedError> {
    let encoding = tokenizer
        .encode("a", true)
        .map_err(|error| EmbedError::Tokenizer(error.to_string()))?;
    let (ids, special) = (encoding.get_ids(), encoding.get_special_tokens_mask());
    let before = special.iter().take_while(|mask| **mask == 1).count();
    let after = special[before..]
        .iter()
        .rev()
        .take_while(|mask| **mask == 1)
        .count();
    Ok((ids[..before].to_vec(), ids[ids.len() - after..].to_vec()))
}

/// Cuts a text of `begins_word.len()` tokens into as few windows of at most `capacity` tokens as
/// will do, of about equal length, between words where that is possible.
///
/// Every token is in exactly one window. Equal lengths, because a last window of two or three
/// tokens would have a vector that means little.
fn windows(begins_word: &[bool], capacity: usize) -> Vec<Range<usize>> {
    let tokens = begins_word.len();
    let mut windows = Vec::with_capacity(tokens.div_ceil(capacity));
    let mut start = 0;
    while start < tokens {
        let left = tokens - start;
        let target = start + left.div_ceil(left.div_ceil(capacity));
        let end = if target == tokens {
            tokens
        } else {
            (start + 1..=target)
                .rev()
                .find(|at| begins_word[*at])
                .unwrap_or(target)
        };
        windows.push(start..end);
        start = end;
    }
    windows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The lengths of the windows; they follow each other without gaps (see the property below).
    fn lengths(begins_word: &[bool], capacity: usize) -> Vec<usize> {
        windows(begins_word, capacity)
            .iter()
            .map(Range::len)
            .collect()
    }

    #[test]
    fn a_text_that_fits_is_one_window() {
        assert_eq!(lengths(&[true; 254], 254), [254]);
        assert_eq!(lengths(&[true], 254), [1]);
        assert!(windows(&[], 254).is_empty());
    }

    #[test]
    fn a_longer_text_is_cut_evenly() {
        assert_eq!(lengths(&[true; 256], 254), [128, 128]);
        assert_eq!(lengths(&[true; 7], 3), [3, 2, 2]);
    }

    #[test]
    fn cuts_fall_between_words() {
        assert_eq!(
            lengths(&[true, true, false, false, true, false], 4),
            [1, 3, 2]
        );
    }

    #[test]
    fn a_word_that_is_too_long_is_cut_inside() {
        let mut begins_word = [false; 10];
        begins_word[0] = true;
        assert_eq!(lengths(&begins_word, 4), [4, 3, 3]);
    }

    proptest! {
        #[test]
        fn windows_hold_every_token_once_and_fit(
            begins_word in prop::collection::vec(prop::bool::weighted(0.6), 0..600),
            capacity in 1usize..80,
        ) {
            let windows = windows(&begins_word, capacity);
            let mut next = 0;
            for window in &windows {
                prop_assert_eq!(window.start, next);
                prop_assert!(!window.is_empty() && window.len() <= capacity);
                next = window.end;
            }
            prop_assert_eq!(next, begins_word.len());
        }
    }
}
