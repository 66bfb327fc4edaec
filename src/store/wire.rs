//! Answers as they come over the wire, one after the other.
//!
//! The client's own parser can go on in the middle of anything, and pays for it with more time than
//! all else takes that is done to read ten thousand records. Records are lists of texts, each with
//! its length before it, so that their ends are seen without a look at what is in between.
//!
//! The form is RESP2, which a server speaks until it is asked for another one
//! (<https://redis.io/docs/latest/develop/reference/protocol-spec/>).

use redis::Value;

/// The bytes are no answer, or one of a kind that records never have.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("the server's answer cannot be read")]
pub(crate) struct Malformed;

/// The longest first line of an answer: a number, or the words of an error.
const LONGEST_LINE: usize = 4_096;

/// The first answer in `bytes` and its length; `None` if it is not all there yet.
///
/// # Errors
/// [`Malformed`] if it never will be one.
pub(crate) fn answer(bytes: &[u8]) -> Result<Option<(Value, usize)>, Malformed> {
    let Some(line) = line(bytes)? else {
        return Ok(None);
    };
    match bytes[0] {
        b'$' => text(bytes, line),
        b'*' => texts(bytes, line),
        b':' => Ok(Some((Value::Int(number(&bytes[..line])?), line))),
        b'+' | b'-' => match redis::parse_redis_value(&bytes[..line]) {
            Ok(value) => Ok(Some((value, line))),
            Err(_) => Err(Malformed),
        },
        _ => Err(Malformed),
    }
}

/// The length of the first line with its end.
fn line(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let end = memchr::memchr(b'\n', &bytes[..bytes.len().min(LONGEST_LINE)]);
    match end {
        Some(end) if end > 1 && bytes[end - 1] == b'\r' => Ok(Some(end + 1)),
        Some(_) => Err(Malformed),
        None if bytes.len() < LONGEST_LINE => Ok(None),
        None => Err(Malformed),
    }
}

/// The same of a line that must begin with `first`.
fn line_of(first: u8, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    match bytes.first() {
        Some(found) if *found != first => Err(Malformed),
        _ => line(bytes),
    }
}

/// The number of a whole line, after its first character.
fn number(line: &[u8]) -> Result<i64, Malformed> {
    let digits = std::str::from_utf8(&line[1..line.len() - 2]).map_err(|_| Malformed)?;
    digits.parse().map_err(|_| Malformed)
}

/// A text whose length is said up to `line`.
fn text(bytes: &[u8], line: usize) -> Result<Option<(Value, usize)>, Malformed> {
    let length = match number(&bytes[..line])? {
        -1 => return Ok(Some((Value::Nil, line))),
        length => usize::try_from(length).map_err(|_| Malformed)?,
    };
    let end = line.checked_add(length).ok_or(Malformed)?;
    match bytes.get(end..).and_then(|rest| rest.get(..2)) {
        None => Ok(None),
        Some(b"\r\n") => Ok(Some((
            Value::BulkString(bytes[line..end].to_vec()),
            end + 2,
        ))),
        Some(_) => Err(Malformed),
    }
}

/// A list whose head ends at `line`.
fn texts(bytes: &[u8], line: usize) -> Result<Option<(Value, usize)>, Malformed> {
    let count = match number(&bytes[..line])? {
        -1 => return Ok(Some((Value::Nil, line))),
        count => usize::try_from(count).map_err(|_| Malformed)?,
    };
    // What the head says is believed as far as there are bytes.
    let mut texts = Vec::with_capacity(count.min(bytes.len()));
    let mut end = line;
    for _ in 0..count {
        let rest = &bytes[end..];
        let Some(line) = line_of(b'$', rest)? else {
            return Ok(None);
        };
        let Some((value, length)) = text(rest, line)? else {
            return Ok(None);
        };
        texts.push(value);
        end += length;
    }
    Ok(Some((Value::Array(texts), end)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text_value() -> impl Strategy<Value = Value> {
        prop_oneof![
            4 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::BulkString),
            1 => Just(Value::Nil),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            text_value(),
            any::<i64>().prop_map(Value::Int),
            Just(Value::Okay),
            prop::collection::vec(text_value(), 0..8).prop_map(Value::Array),
        ]
    }

    fn written(value: &Value) -> Vec<u8> {
        match value {
            Value::BulkString(text) => {
                [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat()
            }
            Value::Int(number) => format!(":{number}\r\n").into_bytes(),
            Value::Okay => b"+OK\r\n".to_vec(),
            Value::Array(values) => {
                let head = format!("*{}\r\n", values.len()).into_bytes();
                let values = values.iter().flat_map(written);
                head.into_iter().chain(values).collect()
            }
            _ => b"$-1\r\n".to_vec(),
        }
    }

    proptest! {
        /// Wherever the bytes are cut, an answer is there as soon as its last byte is.
        #[test]
        fn answers_are_found_one_after_the_other(values in prop::collection::vec(value(), 1..5)) {
            let bytes: Vec<u8> = values.iter().flat_map(written).collect();
            let mut rest = &bytes[..];
            for value in &values {
                let length = written(value).len();
                for cut in 0..length {
                    prop_assert_eq!(answer(&rest[..cut]), Ok(None));
                }
                prop_assert_eq!(answer(rest), Ok(Some((value.clone(), length))));
                prop_assert_eq!(redis::parse_redis_value(&rest[..length]).unwrap(), value.clone());
                rest = &rest[length..];
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, head in r"[$*:+\-]?-?[0-9]{0,20}(\r\n)?") {
            let _ = answer(&[head.as_bytes(), &bytes].concat());
            let _ = answer(&bytes);
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for bytes in [
            "hello\r\n",
            "$x\r\n",
            "$-2\r\n",
            "$3\r\nabcd\r\n",
            "*1\r\n:3\r\n",
            "*1\r\n*0\r\n",
            ":\r\n",
            "\n",
            "%1\r\n",
            "$99999999999999999999\r\n",
            "$9223372036854775807\r\nab",
        ] {
            let found = answer(bytes.as_bytes());
            let never = bytes.starts_with("$9223");
            assert_eq!(
                found,
                if never { Ok(None) } else { Err(Malformed) },
                "{bytes:?}"
            );
        }
        assert_eq!(answer(&[b'1'; LONGEST_LINE]), Err(Malformed));
    }

    #[test]
    fn an_error_is_an_answer() {
        let (value, length) = answer(b"-WRONGTYPE no\r\n:1\r\n").unwrap().unwrap();
        assert!(matches!(value, Value::ServerError(error) if error.code() == "WRONGTYPE"));
        assert_eq!(length, 15);
    }
}
