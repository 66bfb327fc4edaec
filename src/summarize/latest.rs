//! Values of one thing over time: the newest holds, the others are its history.

use super::extractive::fold;
use crate::judge::{Claim, Reading};
use crate::memory::Verdict;

/// The claim whose text holds, if the claims are values of one thing over time.
///
/// Claims that one text stands for count as one value, said when the last of them was. Every pair
/// of values must be an update, so that all dates are known and no two are equal.
pub fn newest(claims: &[Claim<'_>]) -> Option<usize> {
    let mut values: Vec<(usize, Vec<usize>)> = fold(claims)
        .into_iter()
        .map(|part| (part.keep, [part.absorbed, vec![part.keep]].concat()))
        .collect();
    let placed: Vec<usize> = values.iter().flat_map(|(_, rows)| rows.clone()).collect();
    let alone = (0..claims.len()).filter(|i| !placed.contains(i));
    values.extend(alone.map(|i| (i, vec![i])));
    let dated: Option<Vec<Claim<'_>>> = values
        .iter()
        .map(|(keep, rows)| said_last(claims[*keep].text, rows.iter().map(|i| claims[*i])))
        .collect();
    let readings: Vec<Reading> = dated?.into_iter().map(Reading::of).collect();
    let updates = |i: usize, j: usize| readings[i].judge(&readings[j]).verdict == Verdict::Update;
    let one_chain = (0..readings.len()).all(|i| (0..i).all(|j| updates(i, j)));
    let last = (0..values.len()).max_by_key(|&i| readings[i].said_at())?;
    one_chain.then_some(values[last].0)
}

/// A text with the last date of what it stands for; none if a date is unknown.
pub(crate) fn said_last<'a>(
    text: &'a str,
    rows: impl Iterator<Item = Claim<'a>>,
) -> Option<Claim<'a>> {
    let dates: Option<Vec<jiff::Timestamp>> = rows.map(|claim| claim.said_at).collect();
    Some(Claim {
        text,
        said_at: Some(dates?.into_iter().max()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest_of(said: &[(&str, &str)]) -> Option<String> {
        let claims: Vec<Claim<'_>> = said
            .iter()
            .map(|(text, at)| Claim {
                text,
                said_at: at.parse().ok(),
            })
            .collect();
        newest(&claims).map(|i| claims[i].text.to_owned())
    }

    const MAY: &str = "2024-05-01T00:00:00Z";
    const JUNE: &str = "2024-06-01T00:00:00Z";
    const JULY: &str = "2024-07-01T00:00:00Z";

    #[test]
    fn the_newest_value_holds() {
        let (cola, coffee) = ("Favourite drink is cola", "Favourite drink is coffee");
        let found = newest_of(&[(coffee, JUNE), (cola, MAY)]);
        assert_eq!(found.as_deref(), Some(coffee));
        let again = newest_of(&[(cola, MAY), (coffee, JUNE), (cola, JULY)]);
        assert_eq!(again.as_deref(), Some(cola));
    }

    #[test]
    fn what_is_no_chain_or_has_no_order_is_not_guessed() {
        let (cola, coffee) = ("Favourite drink is cola", "Favourite drink is coffee");
        for said in [
            &[(cola, MAY), (coffee, MAY)][..],
            &[(cola, MAY), (coffee, "")],
            &[(cola, ""), (coffee, JUNE), (cola, MAY)],
            &[(cola, MAY), (coffee, JUNE), ("Has a dog", JULY)],
            &[("Bus 18 stops here", MAY), ("Bus 81 stops here", JUNE)],
        ] {
            assert_eq!(newest_of(said), None, "{said:?}");
        }
    }
}
