//! English words without their endings.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::known::is_word;

/// Irregular verbs: base, then past and participle where they differ from it.
const IRREGULAR: &str = "be was were been; have had; do did done; go went gone; get got gotten; use used; owe owed; own owned; add added; make made; take took taken; \
buy bought; bring brought; think thought; teach taught; catch caught; fight fought; seek sought; sell sold; tell told; say said; pay paid; \
lay laid; hear heard; keep kept; sleep slept; feel felt; leave left; meet met; lose lost; send sent; spend spent; lend lent; build built; \
bend bent; mean meant; deal dealt; dream dreamt; learn learnt; burn burnt; find found; hold held; stand stood; understand understood; \
sit sat; win won; hang hung; stick stuck; sting stung; swing swung; dig dug; feed fed; lead led; bleed bled; breed bred; read; \
eat ate eaten; drink drank drunk; drive drove driven; ride rode ridden; write wrote written; rise rose risen; speak spoke spoken; \
break broke broken; choose chose chosen; wake woke woken; wear wore worn; tear tore torn; bear bore born borne; swear swore sworn; steal stole stolen; \
freeze froze frozen; forget forgot forgotten; give gave given; forgive forgave forgiven; see saw seen; know knew known; grow grew grown; \
throw threw thrown; draw drew drawn; fly flew flown; blow blew blown; show showed shown; begin began begun; swim swam swum; sing sang sung; \
ring rang rung; run ran; come came; become became; fall fell fallen; bite bit bitten; hide hid hidden; shoot shot; shake shook shaken; \
sew sewed sewn; prove proved proven; lie lay lain; light lit; slide slid; sweep swept; weep wept; creep crept; kneel knelt; cling clung; \
sink sank sunk; shrink shrank shrunk; stink stank; spring sprang sprung; grind ground; bind bound; wind wound; undergo underwent undergone; withdraw withdrew withdrawn";

/// Plurals and forms that no rule gives.
const OTHERS: &str = "children child; using use; owing owe; adding add;  people person; men man; women woman; mice mouse; teeth tooth; feet foot; geese goose; wives wife; knives knife; \
shelves shelf; leaves leaf; halves half; wolves wolf; loaves loaf; has have; does do; is be; are be; am be; 's be; better good; allergies allergy; \
lying lie; dying die; tying tie; series series; news news; glasses glasses; always always; sometimes sometimes; besides beside; plans plan; \
morning morning; mornings morning; evening evening; evenings evening; meeting meeting; meetings meeting; building building; buildings building; wedding wedding; weddings wedding; \
parking parking; ceiling ceiling; earrings earring; clothing clothing; painting painting; paintings painting; feeling feeling; housing housing; lodging lodging; \
diabetes diabetes; measles measles; species species; shoes shoe; tomatoes tomato; potatoes potato; buses bus; gas gas; pants pants; trousers trousers";

/// The base of an irregular form, and whether the form is one of the past.
static FORMS: LazyLock<HashMap<&str, (&str, bool)>> = LazyLock::new(|| {
    let mut forms = HashMap::new();
    for row in IRREGULAR.split("; ") {
        let mut words = row.split(' ');
        let Some(base) = words.next() else { continue };
        for word in words {
            forms.entry(word).or_insert((base, true));
        }
    }
    for (word, base) in OTHERS.split("; ").filter_map(|row| row.split_once(' ')) {
        forms.insert(word, (base, false));
    }
    // The noun and the adjective are commoner in memories than these verbs.
    for word in ["ground", "wound", "bound", "lay", "light"] {
        forms.remove(word);
    }
    forms
});

/// The base of a form that no rule makes: `bought` is of `buy`.
pub(crate) fn base_of_irregular(word: &str) -> Option<&'static str> {
    FORMS.get(word).map(|(base, _)| *base)
}

/// A word (in lower case) without its ending, and whether it is a form of the past.
pub(super) fn lemma(word: &str) -> (String, bool) {
    if let Some((base, past)) = FORMS.get(word) {
        return ((*base).to_owned(), *past);
    }
    if !word.is_ascii() || word.len() < 4 {
        return (word.to_owned(), false);
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|s| s.len() >= 2) {
        return (format!("{stem}y"), false);
    }
    if let Some(stem) = word.strip_suffix("ied").filter(|s| s.len() >= 2) {
        return (format!("{stem}y"), true);
    }
    if let Some(stem) = word.strip_suffix("ing")
        && let Some(base) = base(stem)
    {
        return (base, false);
    }
    if let Some(stem) = word.strip_suffix("ed")
        && let Some(base) = base(stem)
    {
        return (base, true);
    }
    if let Some(stem) = word.strip_suffix("es")
        && !is_word(&word[..word.len() - 1])
        && (stem.ends_with(['x', 'z', 'o']) || ["s", "sh", "ch"].iter().any(|e| stem.ends_with(e)))
        && is_word(stem)
    {
        return (stem.to_owned(), false);
    }
    if let Some(stem) = word.strip_suffix('s')
        && !stem.ends_with(['s', 'u', 'i'])
        && is_word(stem)
    {
        return (stem.to_owned(), false);
    }
    (word.to_owned(), false)
}

/// The verb whose form in `ing` or `ed` has this stem: `hop` of `hopp`, `hope` of `hop`.
fn base(stem: &str) -> Option<String> {
    let bytes = stem.as_bytes();
    let [_, .., before, last] = *bytes else {
        return None;
    };
    let vowel = |c: u8| b"aeiouy".contains(&c);
    if !bytes.iter().any(|c| vowel(*c)) {
        return None;
    }
    if before == last && !vowel(last) && is_word(&stem[..stem.len() - 1]) && !is_word(stem) {
        return Some(stem[..stem.len() - 1].to_owned());
    }
    let with_e = format!("{stem}e");
    // `hoping`: of one vowel and one consonant, `hop` would double.
    let short = bytes.len() >= 3 && vowel(before) && !vowel(last) && !vowel(bytes[bytes.len() - 3]);
    let syllables = bytes
        .windows(2)
        .filter(|w| vowel(w[0]) && !vowel(w[1]))
        .count();
    // `erased` is of no eras.
    let many = last == b's' && before != b's';
    if is_word(&with_e)
        && (!is_word(stem) || many || short && syllables == 1 && !b"wx".contains(&last))
    {
        return Some(with_e);
    }
    is_word(stem).then(|| stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_their_endings() {
        for (word, expected) in [
            ("hopping", ("hop", false)),
            ("hoping", ("hope", false)),
            ("planned", ("plan", true)),
            ("planes", ("plane", false)),
            ("plans", ("plan", false)),
            ("caring", ("care", false)),
            ("cars", ("car", false)),
            ("singing", ("sing", false)),
            ("visited", ("visit", true)),
            ("opened", ("open", true)),
            ("eating", ("eat", false)),
            ("tried", ("try", true)),
            ("cities", ("city", false)),
            ("watches", ("watch", false)),
            ("bus", ("bus", false)),
            ("glass", ("glass", false)),
            ("went", ("go", true)),
            ("children", ("child", false)),
            ("bed", ("bed", false)),
            ("red", ("red", false)),
            ("morning", ("morning", false)),
            ("thing", ("thing", false)),
            ("moved", ("move", true)),
            ("erased", ("erase", true)),
            ("passed", ("pass", true)),
            ("stored", ("store", true)),
            ("running", ("run", false)),
            ("telling", ("tell", false)),
            ("priya", ("priya", false)),
        ] {
            let (base, past) = lemma(word);
            assert_eq!((base.as_str(), past), expected, "{word}");
        }
    }
}
