//! First words of memories that are surely no names, so that their capital says nothing.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Function words, and verbs and nouns that memories begin with. A word that is also a name
/// (Will, May, Can, Jack) must not stand here.
#[rustfmt::skip]
const OPENERS: &[&str] = &[
    // function words
    "about", "after", "all", "also", "always", "although", "am", "an", "and", "are", "as",
    "at", "because", "before", "both", "but", "by", "could", "currently", "did", "didn't",
    "does", "doesn't", "don't", "during", "each", "every", "for", "from", "had", "has", "hasn't",
    "have", "he", "her", "his", "how", "if", "in", "is", "isn't", "it", "its", "it's", "most",
    "mostly", "must", "my", "never", "no", "not", "now", "often", "on", "only", "or", "our",
    "rarely", "recently", "she", "should", "since", "some", "sometimes", "still", "that", "the",
    "their", "there", "these", "they", "this", "those", "to", "until", "usually", "was", "wasn't",
    "we", "were", "what", "when", "where", "which", "while", "who", "whose", "why", "with",
    "without", "won't", "would", "you", "your",
    // nouns and adjectives
    "allergic", "birthday", "book", "born", "breakfast", "children", "daughter", "dinner", "dog",
    "favorite", "favourite", "flight", "husband", "interested", "kids", "lunch", "married",
    "meeting", "parents", "password", "phone", "salary", "timezone", "user", "users", "user's",
    "vegan", "vegetarian", "wife",
    // other languages
    "das", "der", "die", "ein", "eine", "el", "es", "hat", "ist", "la", "los", "tiene", "una",
    "vive",
];

/// Verbs that memories begin with, whose subject is the user.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "asked", "asks", "attended", "attends", "avoids", "became", "began", "believes", "booked",
    "booking", "bought", "brings", "built", "buys", "calls", "cares", "collects", "considers",
    "dislikes", "drinks", "drives", "eats", "enjoys", "expects", "fears", "feels",
    "finds", "finished", "flew", "flies", "follows", "gave", "gets", "gives", "goes", "got",
    "grew", "grows", "hates", "holds", "intends", "joined", "keeps", "knows", "learned",
    "learns", "left", "lent", "likes", "listens", "lived", "lives", "looks", "loves", "made",
    "makes", "manages", "meets", "met", "moved", "moves", "needs", "orders", "owes", "owned",
    "owns", "paid", "pays", "plans", "played", "plays", "prefers", "quit", "rents", "rides",
    "runs", "says", "sees", "sells", "sings", "sleeps", "sold", "speaks", "spends", "spoke",
    "started", "starts", "stays", "stopped", "studied", "studies", "takes", "teaches", "tells",
    "thinks", "took", "travels", "tries", "trusts", "understands", "uses", "values", "visited",
    "visits", "volunteers", "wakes", "walks", "wants", "watches", "wears", "went", "wishes",
    "worked", "works", "writes", "wrote",
];

/// Verbs that a sentence may also begin with to ask or to name.
const AUXILIARIES: &[&str] = &["'s", "is", "has", "does", "did", "was", "had"];

/// Whether a word (in lower case) is a verb of which the user is the subject where none is named.
pub(crate) fn is_verb(word: &str) -> bool {
    AUXILIARIES.contains(&word) || KNOWN_VERBS.contains(word)
}

/// Whether a word, capitalised or not, is one of these.
pub(crate) fn is_opener(word: &str) -> bool {
    let mut chars = word.chars();
    let Some(first) = chars.next() else {
        return false;
    };
    let rest = chars.as_str();
    // `IT` and `US` are no capitalised words.
    !rest.contains(char::is_uppercase)
        && KNOWN.contains(format!("{}{rest}", first.to_lowercase()).as_str())
}

/// Asked for the first word of every sentence of every memory.
static KNOWN: LazyLock<HashSet<&str>> =
    LazyLock::new(|| OPENERS.iter().chain(VERBS).copied().collect());

static KNOWN_VERBS: LazyLock<HashSet<&str>> = LazyLock::new(|| VERBS.iter().copied().collect());
