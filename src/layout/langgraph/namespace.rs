//! Namespaces: tuples of labels, stored as one escaped text, and the pattern that names users by
//! them.

/// The labels of a stored namespace. The library joins them by dots and escapes punctuation, the
/// dots too; a text with a dot that is not escaped is none that it can find.
pub(super) fn decode(stored: &str) -> Option<Vec<String>> {
    let mut labels = vec![String::new()];
    let mut chars = stored.chars();
    while let Some(c) = chars.next() {
        let (c, escaped) = match c {
            '\\' => (chars.next()?, true),
            c => (c, false),
        };
        match (c, escaped) {
            ('.', true) => labels.push(String::new()),
            ('.', false) => return None,
            (c, _) => labels.last_mut()?.push(c),
        }
    }
    Some(labels)
}

const USER: &str = "{user}";

/// Which namespaces hold memories of users: labels divided by `/`, each a text, `*` for any, or one
/// with `{user}` where the user's id stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern(Vec<Label>);

#[derive(Clone, Debug, PartialEq)]
enum Label {
    Is(String),
    Any,
    User { before: String, after: String },
}

impl Pattern {
    /// The one of LangMem's documentation.
    pub(super) const USUAL: &str = "memories/{user}";

    /// Reads a pattern; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            let usual = Self::USUAL;
            Err(format!(
                "the namespace pattern `{text}` {what}, as `{usual}` does"
            ))
        };
        match text.matches(USER).count() {
            0 => return wrong("must say where the user's id stands, by {user}"),
            1 => {}
            _ => return wrong("must name {user} once only"),
        }
        if text.split('/').any(str::is_empty) {
            return wrong("must have a label before and after each `/`, and none at its ends");
        }
        if text.contains('.') {
            return wrong("must divide its labels by `/`; no label has a dot");
        }
        if text
            .split('/')
            .any(|label| label != "*" && label.contains('*'))
        {
            return wrong("must have `*` for whole labels only");
        }
        if text.replace(USER, "").contains(['{', '}']) {
            return wrong("must have no braces but those of {user}");
        }
        let label = |label: &str| match (label, label.split_once(USER)) {
            ("*", _) => Label::Any,
            (_, Some((before, after))) => Label::User {
                before: before.to_owned(),
                after: after.to_owned(),
            },
            _ => Label::Is(label.to_owned()),
        };
        Ok(Self(text.split('/').map(label).collect()))
    }

    /// The user of a namespace, if the whole of it fits.
    pub(super) fn user(&self, labels: &[String]) -> Option<String> {
        if labels.len() != self.0.len() {
            return None;
        }
        let mut user = None;
        for (wanted, label) in self.0.iter().zip(labels) {
            match wanted {
                Label::Is(text) if text == label => {}
                Label::Is(_) => return None,
                Label::Any => {}
                Label::User { before, after } => {
                    let rest = label.strip_prefix(before.as_str())?;
                    user = Some(rest.strip_suffix(after.as_str())?.to_owned());
                }
            }
        }
        user
    }
}

/// The pattern that stored namespaces have in common: the usual one, or their labels with the only
/// one that differs as the user. `None` where that does not tell it.
pub(super) fn proposed(stored: impl Iterator<Item = String>) -> Option<String> {
    let all: Vec<Vec<String>> = stored
        .map(|stored| decode(&stored))
        .collect::<Option<_>>()?;
    let fits = |text: &String| {
        Pattern::parse(text)
            .is_ok_and(|pattern| all.iter().all(|labels| pattern.user(labels).is_some()))
    };
    let mut labels = all.first()?.clone();
    let usual = Pattern::USUAL.to_owned();
    if fits(&usual) {
        return Some(usual);
    }
    let differs = |at: &usize| all.iter().any(|other| other.get(*at) != labels.get(*at));
    let differing: Vec<usize> = (0..labels.len()).filter(differs).collect();
    let [user] = differing[..] else {
        return None;
    };
    USER.clone_into(labels.get_mut(user)?);
    Some(labels.join("/")).filter(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_namespaces_are_taken_apart_as_they_were_put_together() {
        for (stored, labels) in [
            (r"memories\.alice", &["memories", "alice"][..]),
            (r"u\.a\,b", &["u", "a,b"]),
            (r"u\.x\ y\ ", &["u", "x y "]),
            (r"u\.a\\b\/c", &["u", r"a\b/c"]),
            ("one", &["one"]),
            (r"a\.|é", &["a", "|é"]),
        ] {
            assert_eq!(decode(stored).unwrap(), labels, "{stored}");
        }
        assert_eq!(decode("memories.alice"), None);
        assert_eq!(decode(r"memories\"), None);
    }

    #[test]
    fn the_pattern_must_fit_as_a_whole_and_byte_for_byte() {
        let user = |pattern: &str, labels: &[&str]| {
            let labels: Vec<String> = labels.iter().map(|&l| l.to_owned()).collect();
            Pattern::parse(pattern).unwrap().user(&labels)
        };
        let usual = |labels: &[&str]| user(Pattern::USUAL, labels);
        assert_eq!(usual(&["memories", "alice"]).as_deref(), Some("alice"));
        assert_eq!(usual(&["memories", "Alice "]).as_deref(), Some("Alice "));
        assert_eq!(usual(&["Memories", "alice"]), None);
        assert_eq!(usual(&["memories"]), None);
        assert_eq!(usual(&["memories", "alice", "work"]), None);
        let found = user("*/user-{user}/facts", &["x", "user-7", "facts"]);
        assert_eq!(found.as_deref(), Some("7"));
        assert_eq!(user("*/user-{user}/facts", &["x", "7", "facts"]), None);
    }

    #[test]
    fn a_pattern_is_proposed_where_the_namespaces_tell_it() {
        for (stored, pattern) in [
            (&[r"memories\.alice"][..], Some("memories/{user}")),
            (
                &[r"memories\.alice", r"memories\.bob"],
                Some("memories/{user}"),
            ),
            (
                &[r"app\.alice\.facts", r"app\.bob\.facts"],
                Some("app/{user}/facts"),
            ),
            (&[r"app\.alice\.facts"], None),
            (&[r"app\.alice\.facts", r"app\.bob\.notes"], None),
            (&[r"memories\.alice", r"app\.x\.y"], None),
            (&[r"a\/b\.alice", r"a\/b\.bob"], None),
            (&["broken.x"], None),
            (&[], None),
        ] {
            let found = proposed(stored.iter().map(|&text| text.to_owned()));
            assert_eq!(found.as_deref(), pattern, "{stored:?}");
        }
    }

    #[test]
    fn odd_patterns_are_refused_in_words_that_help() {
        for (pattern, says) in [
            ("memories", "by {user}"),
            ("", "by {user}"),
            ("memories/{User}", "by {user}"),
            ("{user}/{user}", "once only"),
            ("memories/{user}-{user}", "once only"),
            ("memories/{user}/", "none at its ends"),
            ("/memories/{user}", "none at its ends"),
            ("memories//{user}", "before and after"),
            ("memories.{user}", "by `/`"),
            ("mem*/{user}", "whole labels"),
            ("memories/{{user}}", "no braces"),
            ("{app}/{user}", "no braces"),
        ] {
            let error = Pattern::parse(pattern).unwrap_err();
            assert!(error.contains(says) && error.contains(pattern), "{error}");
        }
    }
}
