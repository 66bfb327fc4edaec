//! A parser for JSON arrays of numbers, for vectors: no tree, no text of its own for a number.

/// 10 to each power that an f64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// As many digits fit into a u64, whatever they are.
const DIGITS: u32 = 19;
/// More than the relative error of a u64 made an f64 and taken by a power of ten, 2⁻⁵² and a bit.
const ERROR: f64 = 1.0 / (1u64 << 51) as f64;

/// The numbers of a JSON array, each the f32 that is nearest to it; `None` if `text` is none.
/// `expected` is a guess at how many there are.
pub(super) fn parse(text: &str, expected: usize) -> Option<Vec<f32>> {
    let mut numbers = Vec::with_capacity(expected);
    let mut array = Array { text, at: 0 };
    array.expect(b'[')?;
    array.blanks();
    if array.peek() != Some(b']') {
        loop {
            array.blanks();
            numbers.push(array.number()?);
            array.blanks();
            if array.peek() != Some(b',') {
                break;
            }
            array.at += 1;
        }
    }
    array.expect(b']')?;
    array.blanks();
    (array.at == text.len()).then_some(numbers)
}

/// The place in the text of an array.
struct Array<'a> {
    text: &'a str,
    at: usize,
}

impl Array<'_> {
    /// Reads a number of JSON's grammar.
    fn number(&mut self) -> Option<f32> {
        let start = self.at;
        let negative = self.take(b'-');
        let mut digits = Digits::default();
        let whole = self.digits(&mut digits);
        let leading_zero = whole > 1 && self.text.as_bytes()[self.at - whole] == b'0';
        let mut fraction = 0;
        if self.take(b'.') {
            fraction = self.digits(&mut digits);
            if fraction == 0 {
                return None;
            }
        }
        let exponent = self.exponent()?;
        if whole == 0 || leading_zero {
            return None;
        }
        let near = digits.scaled(i64::from(exponent) - fraction as i64);
        match near {
            Some(number) if negative => Some(-number),
            Some(number) => Some(number),
            None => self.text[start..self.at].parse().ok(),
        }
    }

    /// Reads digits and says how many there are.
    fn digits(&mut self, digits: &mut Digits) -> usize {
        let start = self.at;
        while let Some(eight) = self.text.as_bytes()[self.at..].first_chunk()
            && let Some(number) = eight_digits(*eight)
        {
            digits.push_eight(number);
            self.at += 8;
        }
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            digits.push(digit - b'0');
            self.at += 1;
        }
        self.at - start
    }

    /// Reads an exponent, 0 where there is none.
    fn exponent(&mut self) -> Option<i32> {
        if !self.take(b'e') && !self.take(b'E') {
            return Some(0);
        }
        let negative = self.take(b'-');
        if !negative {
            self.take(b'+');
        }
        let mut exponent = 0i32;
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            exponent = exponent
                .saturating_mul(10)
                .saturating_add((digit - b'0').into());
            self.at += 1;
        }
        let exponent = if negative { -exponent } else { exponent };
        (self.at > start).then_some(exponent)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.blanks();
        self.take(byte).then_some(())
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// The number that eight digits make; `None` where one of the bytes is no digit.
///
/// The bytes are tested and added up side by side within one word: first neighbours to pairs, then
/// pairs to fours, then both fours (D. Lemire, *Number parsing at a gigabyte per second*, 2021).
fn eight_digits(bytes: [u8; 8]) -> Option<u32> {
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    const ENDS: u64 = 0x0000_00ff_0000_00ff;
    let word = u64::from_le_bytes(bytes);
    // Digits are 0x30 to 0x39: they have a 3 above, and still have it with 6 more.
    let above = (word & HIGH) | ((word.wrapping_add(0x0606_0606_0606_0606) & HIGH) >> 4);
    if above != 0x3333_3333_3333_3333 {
        return None;
    }
    let digits = word - 0x3030_3030_3030_3030;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let first = (pairs & ENDS).wrapping_mul(100 + (1_000_000 << 32));
    let second = (pairs >> 16 & ENDS).wrapping_mul(1 + (10_000 << 32));
    Some((first.wrapping_add(second) >> 32) as u32)
}

/// The digits of a number as one whole number.
#[derive(Default)]
struct Digits {
    number: u64,
    /// How many there are from the first that is not 0.
    count: u32,
}

impl Digits {
    fn push(&mut self, digit: u8) {
        self.number = self.number.wrapping_mul(10).wrapping_add(digit.into());
        self.count += u32::from(self.number != 0 || self.count > 0);
    }

    fn push_eight(&mut self, eight: u32) {
        let first = self.count == 0;
        self.number = self
            .number
            .wrapping_mul(100_000_000)
            .wrapping_add(eight.into());
        self.count += match eight.checked_ilog10() {
            Some(more) if first => more + 1,
            None if first => 0,
            _ => 8,
        };
    }

    /// The f32 that is nearest to the number times 10 to `exponent`; `None` where an f64 on the way
    /// is not near enough to tell.
    fn scaled(&self, exponent: i64) -> Option<f32> {
        if self.count > DIGITS {
            return None;
        }
        let power = *POWERS.get(usize::try_from(exponent.unsigned_abs()).ok()?)?;
        let near = if exponent < 0 {
            self.number as f64 / power
        } else {
            self.number as f64 * power
        };
        let (least, most) = (near * (1.0 - ERROR), near * (1.0 + ERROR));
        (least as f32 == most as f32).then_some(near as f32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{eight_digits, parse};

    #[test]
    fn only_arrays_of_numbers_are_read() {
        assert_eq!(
            parse(" [ 1 , -2.5e-1,0,-0 ] ", 4),
            Some(vec![1.0, -0.25, 0.0, -0.0])
        );
        assert_eq!(parse("[]", 0), Some(vec![]));
        for text in [
            "", "[", "1", "[1", "[1,]", "[,1]", "[1]]", "[1] 2", "[1 2]", "[01]", "[.5]", "[1.]",
            "[+1]", "[-]", "[1e]", "[1e+]", "[--1]", "[NaN]", "[null]", "[\"1\"]", "[[1]]",
            "[1_0]",
        ] {
            assert_eq!(parse(text, 1), None, "{text}");
        }
    }

    #[test]
    fn what_no_f32_holds_is_infinite_or_zero() {
        assert_eq!(
            parse("[1e400,-1e39,1e-400]", 3).unwrap(),
            [f32::INFINITY, f32::NEG_INFINITY, 0.0]
        );
    }

    #[test]
    fn eight_digits_are_one_number() {
        for (text, number) in [
            ("00000000", Some(0)),
            ("12345678", Some(12_345_678)),
            ("99999999", Some(99_999_999)),
            ("00000001", Some(1)),
            ("10000000", Some(10_000_000)),
        ] {
            assert_eq!(eight_digits(text.as_bytes().try_into().unwrap()), number);
        }
        // Every other byte at every place.
        for place in 0..8 {
            for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
                let mut bytes = *b"98765432";
                bytes[place] = byte;
                assert_eq!(eight_digits(bytes), None, "{bytes:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_standard_library(
            whole in "0|-?[1-9][0-9]{0,22}",
            fraction in "(\\.[0-9]{1,24})?",
            exponent in "([eE][+-]?[0-9]{1,2})?",
        ) {
            let text = format!("{whole}{fraction}{exponent}");
            let expected: f32 = text.parse().unwrap();
            prop_assert_eq!(parse(&format!("[{text}]"), 1).unwrap()[0].to_bits(), expected.to_bits());
        }

        #[test]
        fn halves_between_two_numbers_go_to_the_nearest(bits in 0u32..0x7f00_0000, nudge in -3i64..=3) {
            // The f64 in the middle between two f32, and its neighbours.
            let (below, above) = (f32::from_bits(bits), f32::from_bits(bits + 1));
            let middle = f64::midpoint(below.into(), above.into());
            let near = f64::from_bits((middle.to_bits() as i64 + nudge) as u64);
            let text = format!("{near:?}");
            let expected: f32 = text.parse().unwrap();
            prop_assert_eq!(parse(&format!("[{text}]"), 1).unwrap()[0].to_bits(), expected.to_bits());
        }
    }
}
