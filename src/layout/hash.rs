//! Single fields of HASH records, and the rules by which some of them are merged.

use super::{Record, Source};

impl Record {
    /// The field of a HASH as text; `None` where it is absent or not UTF-8.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let Self::Hash(fields) = self else {
            return None;
        };
        let found = fields.iter().find(|(known, _)| known == name.as_bytes());
        std::str::from_utf8(&found?.1).ok()
    }

    /// Gives a field of a HASH this text, at its place where it has one.
    pub(crate) fn put(&mut self, name: &str, text: &str) {
        let Self::Hash(fields) = self else {
            return;
        };
        match fields
            .iter_mut()
            .find(|(known, _)| known == name.as_bytes())
        {
            Some((_, value)) => *value = text.as_bytes().to_vec(),
            None => fields.push((name.into(), text.into())),
        }
    }

    /// Takes fields out of a HASH.
    pub(crate) fn drop_fields(&mut self, names: &[&str]) {
        if let Self::Hash(fields) = self {
            fields.retain(|(known, _)| !names.iter().any(|name| known == name.as_bytes()));
        }
    }
}

/// The texts of a field in all sources that have it, the survivor's first.
pub(crate) fn texts<'a>(sources: &'a [Source], survivor: usize, name: &str) -> Vec<&'a str> {
    let others = (0..sources.len()).filter(|at| *at != survivor);
    [survivor]
        .into_iter()
        .chain(others)
        .filter_map(|at| sources.get(at)?.stored.record.text(name))
        .collect()
}

/// The text with the greatest number, as it is written.
pub(crate) fn greatest<'a>(texts: &[&'a str]) -> Option<&'a str> {
    let number = |text: &&str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    let numbers = texts.iter().filter_map(|text| Some((*text, number(text)?)));
    // The first of equals.
    let greatest = numbers.reduce(|best, next| if next.1 > best.1 { next } else { best });
    greatest.map(|(text, _)| text)
}

/// The whole numbers added up; `None` if one is none, or if there are none.
pub(crate) fn sum(texts: &[&str]) -> Option<i64> {
    let numbers: Option<Vec<i64>> = texts.iter().map(|text| text.trim().parse().ok()).collect();
    let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
    numbers.into_iter().try_fold(0i64, i64::checked_add)
}

/// All items of the texts, each once, in their order.
pub(crate) fn union(texts: &[&str], is_separator: fn(char) -> bool, joined_by: &str) -> String {
    let items = texts.iter().flat_map(|text| text.split(is_separator));
    let mut united: Vec<&str> = Vec::new();
    for item in items.map(str::trim).filter(|item| !item.is_empty()) {
        if !united.contains(&item) {
            united.push(item);
        }
    }
    united.join(joined_by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_places() {
        let mut record = Record::Hash(vec![
            (b"a".to_vec(), b"1".to_vec()),
            (b"b".to_vec(), vec![0xff]),
        ]);
        assert_eq!((record.text("a"), record.text("b")), (Some("1"), None));
        record.put("a", "2");
        record.put("c", "3");
        record.drop_fields(&["b", "x"]);
        let expected = [("a", "2"), ("c", "3")].map(|(n, v)| (n.into(), v.into()));
        assert_eq!(record, Record::Hash(expected.to_vec()));
    }

    #[test]
    fn numbers_are_compared_and_added_as_numbers() {
        assert_eq!(greatest(&["9.5", "10", "soon", "10.0"]), Some("10"));
        assert_eq!(greatest(&["nan", ""]), None);
        assert_eq!(sum(&["2", " 3"]), Some(5));
        assert_eq!(sum(&["2", "x"]), None);
        assert_eq!(sum(&[]), None);
    }

    #[test]
    fn items_are_united_once() {
        let comma = |c| c == ',';
        assert_eq!(union(&["a, b", "", "b,c"], comma, ","), "a,b,c");
        assert_eq!(union(&[], comma, ","), "");
    }
}
