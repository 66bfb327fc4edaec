//! Text made fit for the server's small languages: search queries and `SCAN` patterns.

/// A field name as the query language takes it.
pub(super) fn field_name(name: &str) -> String {
    escaped(name, |c| {
        c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_'
    })
}

/// A key prefix as a `SCAN` pattern takes it.
pub(super) fn glob(prefix: &str) -> String {
    escaped(prefix, |c| matches!(c, '*' | '?' | '[' | ']' | '\\'))
}

fn escaped(text: &str, special: impl Fn(char) -> bool) -> String {
    text.chars()
        .flat_map(|c| special(c).then_some('\\').into_iter().chain([c]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_themselves() {
        assert_eq!(glob("a*b?[c]\\:"), "a\\*b\\?\\[c\\]\\\\:");
    }

    #[test]
    fn field_names_mean_themselves() {
        assert_eq!(field_name("$.user_id"), "\\$\\.user_id");
        assert_eq!(field_name("embedding_2"), "embedding_2");
        assert_eq!(field_name("my-vec.tor"), "my\\-vec\\.tor");
        assert_eq!(field_name("向量"), "向量");
    }
}
