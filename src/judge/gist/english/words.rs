//! The lists of English words that the reading of a sentence goes by.

/// Words that say nothing where everything else is the same.
#[rustfmt::skip]
pub(super) const LIGHT: &[&str] = &[
    "a", "an", "the", "be", "'s", "do", "that", "which", "who", "there", "it", "so", "such", "my", "his", "her", "their", "its", "our", "your",
    "please", "kindly", "own", "really", "very", "of",
];

/// Words that must stand before the same word in both texts.
#[rustfmt::skip]
pub(super) const STRICT: &[&str] = &[
    "from", "to", "before", "after", "until", "since", "without", "against", "than", "over", "under", "above", "below", "into", "by",
    "between", "behind", "towards", "toward", "via", "except", "instead", "as", "like", "unlike", "per", "through", "across",
];

/// Prepositions of phrases that may stand elsewhere; none stands for one of another group.
pub(super) const LOOSE: &[(&str, &str)] = &[
    ("in", "in"),
    ("on", "on"),
    ("at", "at"),
    ("inside", "in"),
    ("within", "in"),
    ("during", "in"),
    ("with", "with"),
    ("for", "for"),
    ("about", "about"),
    ("because", "because"),
    ("due", "because"),
];

/// Words that limit what follows.
#[rustfmt::skip]
pub(super) const LIMITING: &[&str] = &[
    "only", "just", "merely", "even", "all", "both", "each", "every", "any", "some", "most", "half", "almost", "nearly", "few", "several", "many", "much",
    "more", "less", "fewer", "least", "mostly", "mainly", "partly", "too", "so", "other", "another", "first", "last", "next", "same",
];

/// Words in whose presence no order is free.
#[rustfmt::skip]
pub(super) const ORDERED: &[&str] = &[
    "than", "then", "first", "before", "after", "until", "while", "when", "if", "unless", "but", "instead", "from", "to", "over", "versus", "vs", "against",
    "respectively", "followed", "more", "less", "only", "who", "whose", "that", "says", "said", "told", "thinks", "asked", "lent", "owes", "taught",
];

/// Forms of `be` and `get` before a participle: of now, and of then.
pub(super) const NOW: &[&str] = &[
    "'s", "is", "are", "am", "be", "being", "get", "gets", "getting",
];
pub(super) const THEN: &[&str] = &["was", "were", "been", "got", "had", "has", "have"];

/// Verbs after which `to do` is not `doing`: `stopped to smoke`, `stopped smoking`.
#[rustfmt::skip]
pub(super) const ENDS_OR_AIMS: &[&str] = &[
    "stop", "quit", "remember", "forget", "try", "attempt", "regret", "go", "mean", "deserve", "pause", "stay", "come",
];

/// Forms of verbs that are participles too, though they look like the base.
pub(super) const BARE_PARTICIPLES: &[&str] = &[
    "put", "cut", "hit", "set", "hurt", "let", "shut", "read", "run", "bet", "cast", "beat",
    "split", "spread",
];

/// Words that end the noun after `by`.
#[rustfmt::skip]
pub(super) const ENDS: &[&str] = &[
    "in", "on", "at", "during", "for", "with", "from", "to", "because", "since", "before", "after", "until", "when", "while", "if", "as", "near", "last", "this",
    "yesterday", "today", ",", ";", "(", "-", "and", "every", "each", "without",
];

/// What lasts, so that `is living` is hardly more of now than `lives`.
#[rustfmt::skip]
pub(super) const LASTING: &[&str] = &[
    "live", "work", "study", "learn", "teach", "train", "date", "use", "plan", "suffer", "look", "wear", "hope", "hold", "save", "sit", "stand", "lie", "hang",
];

/// Classes of which a word may be one or many.
pub(super) const UNCOUNTED: &[&str] = &["fiction", "sport", "medicine", "luggage", "train"];

/// Words around an address or number at which somebody can be reached.
#[rustfmt::skip]
pub(super) const CONTACT: &[&str] = &["email", "mail", "address", "phone", "smartphone", "tel", "nr", "cell", "number", "call", "contact", "reach", "can", "under", "answer", "use", "at"];

/// Relations, as the lists call them.
#[rustfmt::skip]
pub(super) const RELATIONS: &[&str] = &[
    "sis", "bro", "mother", "father", "mum", "dad", "wife", "hubby", "husband", "son", "daughter", "cousin", "aunt", "uncle", "friend", "colleague", "boss", "manager", "neighbor", "landlord",
    "teacher", "doctor", "dr", "dentist", "lawyer", "niece", "nephew", "grandmother", "grandfather", "grandma", "grandpa", "partner", "girlfriend", "boyfriend", "fiance", "fiancee", "roommate", "coach", "therapist", "dog", "cat",
];

/// What one drinks, which may be taken or had.
#[rustfmt::skip]
pub(super) const DRINKS: &[&str] = &["tea", "coffee", "milk", "water", "juice", "beer", "wine", "cocoa", "espresso", "cappuccino", "latte", "lemonade", "soda", "cola", "smoothie", "whisky", "whiskey", "matcha"];
