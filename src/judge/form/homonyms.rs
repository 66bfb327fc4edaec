//! Words that mean something else with a capital: `Turkey`, `Polish`, `Will`.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Words in lower case that are also names of people, places, languages, months, firms, languages
/// of programmers or abbreviations. Of all other words the case says nothing.
#[rustfmt::skip]
const HOMONYMS: &[&str] = &[
    // places, peoples, languages
    "turkey", "china", "chile", "guinea", "jersey", "polish", "bath", "reading", "nice", "cork",
    "mobile", "lima", "cologne", "limerick", "champagne", "bologna", "panama", "japan", "jordan",
    "orange", "essen", "hamburger", "frankfurter", "danish", "swede", "finish", "flint", "buffalo",
    "java", "bali", "cuba", "mali", "niger", "chad", "georgia", "brazil", "georgian", "scotch",
    "brussels", "split", "bergen", "halle", "hall", "sale", "deal", "battle", "rugby", "wells",
    "hull", "poole", "deal", "troy", "phoenix", "mesa", "boulder", "aurora", "orlando", "ford",
    "lourdes", "tours", "nancy", "lens", "angers", "sion", "brest", "cannes", "canne", "lille",
    // months, days
    "may", "march", "august", "sun", "sat", "mar", "jan", "dec", "wed",
    // given names
    "will", "mark", "bill", "jack", "penny", "hunter", "robin", "rose", "rosemary", "daisy",
    "lily", "ivy", "violet", "iris", "heather", "holly", "jasmine", "olive", "ginger", "basil",
    "sage", "amber", "ruby", "pearl", "opal", "jade", "crystal", "coral", "garnet", "jewel",
    "hope", "faith", "grace", "joy", "charity", "patience", "prudence", "constance", "honor",
    "harmony", "melody", "carol", "dawn", "eve", "summer", "autumn", "april", "june", "star",
    "sky", "skye", "rain", "storm", "river", "brook", "lake", "cliff", "glen", "heath", "forest",
    "rock", "rocky", "sandy", "dusty", "rusty", "bob", "rob", "nick", "pat", "peter", "don",
    "dick", "frank", "ernest", "earnest", "art", "gene", "guy", "miles", "max", "rich", "chip",
    "chuck", "skip", "buck", "buster", "duke", "earl", "king", "prince", "baron", "major",
    "marshal", "bishop", "dean", "abbot", "christian", "sterling", "pierce", "lance", "piers",
    "wade", "ward", "drew", "grant", "josh", "jimmy", "johnny", "john", "harry", "hank", "herb",
    "mason", "carter", "cooper", "tanner", "taylor", "tyler", "parker", "porter", "turner",
    "fisher", "fletcher", "archer", "sawyer", "walker", "chase", "trip", "ace", "angel", "bud",
    "buddy", "sonny", "junior", "kitty", "bunny", "candy", "cherry", "honey", "sugar", "gale",
    "gay", "happy", "merry", "misty", "bliss", "clay", "colt", "cash", "dash", "dot", "fay", "fern",
    "flora", "hazel", "laurel", "myrtle", "poppy", "viola", "paige", "page", "tiffany", "bianca",
    "reed", "reid", "roman", "van", "victor", "vic", "lane", "leo", "levi", "louis", "sue", "ray",
    "ann", "mat", "matt", "tim", "tom", "toby", "stew", "stewart", "kay", "jay", "dee", "bea",
    "pam", "viv", "val", "mercy", "mary", "marina", "melissa", "misty", "destiny", "genesis",
    "trinity", "cat", "wolf", "lark", "wren", "jo", "al", "les", "lot", "ali", "pia", "mia", "sol",
    // family names
    "baker", "smith", "cook", "potter", "brown", "white", "black", "green", "gray", "grey",
    "young", "long", "short", "little", "small", "large", "strong", "wise", "sharp", "savage",
    "bush", "wood", "woods", "field", "fields", "hill", "stone", "church", "temple", "bridge",
    "castle", "house", "banks", "bank", "pool", "wells", "marsh", "moor", "moore", "snow", "frost",
    "winter", "fox", "bird", "swan", "drake", "crane", "finch", "martin", "lamb", "bull", "hare",
    "fish", "pike", "salmon", "rice", "bean", "berry", "peach", "plum", "root", "bloom", "flowers",
    "gold", "silver", "steel", "diamond", "jewel", "day", "knight", "pope", "monk", "priest",
    "page", "butler", "clerk", "shepherd", "miller", "weaver", "taylor", "mason", "carpenter",
    "judge", "chambers", "price", "bond", "power", "powers", "love", "good", "best", "case",
    "dick", "rush", "hardy", "noble", "blunt", "bright", "brand", "cross", "crown", "dear",
    "gates", "jobs", "hopper", "turing", "musk", "trump", "biden", "obama", "bezos", "feld",
    // firms, products, things with capitals
    "apple", "amazon", "oracle", "shell", "target", "gap", "visa", "dove", "puma", "jaguar",
    "corona", "tide", "galaxy", "windows", "word", "excel", "access", "outlook", "teams", "slack",
    "zoom", "signal", "discord", "notion", "linear", "safari", "chrome", "edge", "opera", "brave",
    "python", "ruby", "rust", "go", "swift", "dart", "julia", "scratch", "basic", "cobol", "lisp",
    "elixir", "crystal", "nim", "kafka", "redis", "docker", "jenkins", "puppet", "chef", "vault",
    "consul", "nomad", "flask", "django", "rails", "spring", "spark", "storm", "hive", "pig",
    "sprint", "subway", "alphabet", "meta", "square", "stripe", "block", "uber", "lift", "lyft",
    "mars", "venus", "mercury", "earth", "saturn", "jupiter", "bible", "god", "lord", "internet",
    "catholic", "orthodox", "liberal", "democrat", "republican", "labour", "conservative",
    "pill", "monopoly", "risk", "hearts", "spades", "polo", "golf", "passat", "beetle", "fiesta",
    "focus", "echo", "alexa", "nest", "ring", "blink", "kindle", "fire", "prime", "switch",
    // abbreviations in capitals
    "it", "us", "who", "aids", "pin", "sad", "add", "led", "cat", "ram", "rom", "dos", "ids",
    "pm", "am", "or", "in", "me", "ma", "pa", "la", "as", "id", "ad", "ai", "ram", "sim", "sms",
    "gas", "nato", "war", "bar", "act", "sat", "mad", "cad", "cam", "can", "cost", "era", "fed",
    "ira", "nasa", "opera", "pet", "salt", "sos", "start", "step", "swat", "tar", "tip", "un",
    "uk", "vat", "zip", "hiv", "hr", "pt", "ot", "pr", "er", "ed", "do", "md", "pa", "rn", "ms",
    // German nouns and verbs that differ by their capital
    "essen", "leben", "laufen", "weg", "arm", "reich", "würde", "gut", "recht", "morgen", "band",
    "liebe", "fest", "rat", "tor", "dank", "schuld", "angst", "sie", "ihr", "ihnen", "ihre",
];

static KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| HOMONYMS.iter().copied().collect());

/// The word as it is compared: in lower case, unless its capitals may make another word of it.
pub(super) fn fold(word: &str) -> String {
    let lower = word.to_lowercase();
    let single = word.chars().nth(1).is_none() && word != "I";
    if lower != word && (single || KNOWN.contains(lower.as_str())) {
        return word.to_owned();
    }
    // Full case folding: ß is written ss in capitals, by the Swiss and in ASCII.
    if WITH_ESZETT.iter().any(|stem| lower.starts_with(stem)) {
        lower
    } else {
        lower.replace('ß', "ss")
    }
}

/// Beginnings of words that are other words with ss: `in Maßen`, `in Massen`.
const WITH_ESZETT: &[&str] = &["maß", "buß", "floß", "gemäß", "ruß"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_of_most_words_says_nothing() {
        for (a, b) in [
            ("CAFÉ", "Café"),
            ("Löwe", "LÖWE"),
            ("Müllerstraße", "müllerstrasse"),
            ("Friday", "friday"),
            ("WiFi", "wifi"),
            ("Berlin", "berlin"),
        ] {
            assert_eq!(fold(a), fold(b));
        }
    }

    #[test]
    fn the_case_of_homonyms_is_kept() {
        for (a, b) in [
            ("Turkey", "turkey"),
            ("Polish", "polish"),
            ("Will", "will"),
            ("Rose", "rose"),
            ("May", "may"),
            ("IT", "it"),
            ("US", "us"),
            ("WHO", "who"),
            ("Apple", "apple"),
            ("Python", "python"),
            ("C", "c"),
            ("Baker", "baker"),
        ] {
            assert_ne!(fold(a), fold(b));
        }
    }
}
