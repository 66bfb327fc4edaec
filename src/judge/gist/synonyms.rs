//! Words that say the same where everything else of two texts is the same.
//!
//! Closed lists. A word stands here only if two facts about one user hardly ever differ by nothing
//! but this word: `road` and `street` make two addresses, `boat` and `ship` two things.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::lemma::lemma;
use crate::judge::form::shortened;

/// Words and phrases of one meaning; the first one stands for all. Inflected forms are found by
/// their lemma.
#[rustfmt::skip]
const ROWS: &[&[&str]] = &[
    // tastes and states of mind
    &["like", "enjoy", "be fond of", "be a fan of", "be keen on"], &["love", "adore"],
    &["hate", "loathe", "detest"],
    &["prefer", "favor", "favour"],
    &["fear", "afraid of", "scared of", "frightened of", "terrified of", "have a fear of", "have fear of", "afraid", "scared"],
    &["annoyed", "irritated"], &["annoy", "irritate"],
    &["glad", "happy", "pleased"], &["worry", "fret"],
    &["smart", "clever", "intelligent"],
    // to live, to work, to have
    &["live", "reside", "dwell", "be based", "be living"],
    &["work", "job", "be employed"],
    &["work for", "be employed by"], &["work at", "be employed at"],
    &["own", "possess"], &["rent", "lease"], &["buy", "purchase"], &["use", "utilize", "utilise", "make use of"],
    &["need", "require"], &["need to", "have to", "have got to"], &["want", "wish", "would like"],
    &["plan", "intend"], &["try", "attempt"], &["start", "begin", "commence"], &["finish", "complete"],
    &["help", "assist", "aid"], &["fix", "repair", "mend"], &["choose", "pick", "select", "opt for"],
    &["learn", "be taking lessons in", "take lessons in"], &["teach", "instruct", "give lessons in"],
    &["call", "give a call"], &["answer", "reply", "response", "respond"],
    &["remove", "delete"], &["erase", "wipe"], &["visit", "go to see", "pay a visit to"],
    &["allow", "permit"], &["forbid", "prohibit", "ban"], &["wear", "be wearing"],
    &["refund", "reimburse", "pay back"], &["postpone", "put off"], &["cancel", "call off"],
    &["attend", "take part in", "participate in"], &["join", "become a member of"], &["grow", "cultivate"],
    &["look after", "take care of", "care for"], &["run", "go running", "go for a run"], &["jog", "go jogging", "go for a jog"],
    &["swim", "go swimming", "go for a swim"], &["walk", "go for a walk", "take a walk", "go walking"], &["stroll", "go for a stroll"],
    &["hike", "go hiking", "go for a hike"], &["cycle", "bike", "go cycling", "ride a bike", "ride a bicycle"], &["ski", "go skiing"], &["climb", "go climbing"],
    &["shop", "go shopping", "do the shopping"], &["dance", "go dancing"], &["camp", "go camping"], &["sing", "do singing"],
    &["work out", "exercise", "do workouts"], &["practise", "practice"], &["commute", "get to work", "way to work", "travel to work"],
    &["nap", "take a nap", "have a nap"], &["shower", "take a shower", "have a shower"], &["breakfast", "have breakfast", "eat breakfast"],
    &["lunch", "have lunch", "eat lunch"], &["dinner", "have dinner", "eat dinner", "supper", "have supper", "eat supper"],
    &["sleep", "be asleep"], &["to bed", "go to bed", "in bed", "be in bed"], &["get up", "rise"],
    &["volunteer", "do volunteer work", "be a volunteer"], &["decide", "make a decision", "take a decision"], &["book", "make a booking for", "make a reservation for", "reserve"],
    &["cook", "do the cooking"], &["graduate", "get a degree"], &["have a cold", "have the sniffles"],
    // people
    &["mother", "mum", "mom", "mummy", "mommy"], &["father", "dad", "daddy"], &["grandmother", "grandma", "granny", "nana"], &["grandfather", "grandpa", "grandad", "granddad"],
    &["child", "kid"], &["baby", "infant"], &["friend", "buddy", "pal"], &["colleague", "coworker", "co-worker", "workmate"],
    &["roommate", "flatmate", "housemate"], &["neighbor", "neighbour"], &["doctor", "physician", "medical doctor"], &["lawyer", "attorney"], &["programmer", "coder"],
    &["police officer", "policeman", "policewoman", "cop"], &["firefighter", "fireman"], &["teacher", "schoolteacher"], &["hairdresser", "hairstylist"], &["shop assistant", "sales assistant"],
    &["be pregnant with twins", "be expecting twins"], &["be pregnant", "be expecting a baby"],
    &["be named", "be called", "name be", "go by the name of", "be known as", "named", "called"],
    &["wedding", "marriage ceremony"], &["get married", "marry", "tie the knot", "wed"], &["sibling", "brother or sister", "brother and sister"], &["vegetarian", "veggie"],
    // health
    &["sick", "ill", "unwell"], &["medicine", "medication"], &["painkiller", "pain reliever"], &["injection", "jab"], &["surgery", "operation"], &["flu", "influenza"],
    &["checkup", "check-up", "health check"], &["stomachache", "tummy ache", "stomach ache", "stomach pain"], &["allergic to", "allergy to", "have an allergy to", "be allergic to", "have allergies to"],
    &["workout", "training session"], &["dizzy", "light-headed", "lightheaded"], &["carsick", "car sick", "motion sick"], &["nearsighted", "near-sighted", "short-sighted", "shortsighted", "myopic"],
    &["left-handed", "lefthanded", "a lefty"], &["physiotherapy", "physical therapy", "physio"], &["insomnia", "sleeplessness", "trouble sleeping"], &["hurt", "ache", "be sore", "be painful"],
    // things
    &["sofa", "couch", "settee"], &["apartment", "flat", "apt"], &["fridge", "refrigerator", "icebox"], &["television", "tv", "telly"], &["bicycle", "bike", "pushbike"], &["motorcycle", "motorbike"],
    &["car", "automobile"], &["truck", "lorry"], &["airplane", "aeroplane", "plane"], &["taxi", "cab"], &["subway", "underground", "metro"], &["elevator", "lift"], &["movie", "film", "motion picture"],
    &["photo", "photograph"], &["store", "shop"], &["supermarket", "grocery store", "grocery shop"], &["pharmacy", "drugstore", "chemist"], &["trash", "garbage", "rubbish"],
    &["gift", "present"], &["pants", "trousers"], &["sweater", "jumper", "pullover"], &["backpack", "rucksack"], 
    &["tap", "faucet"], &["stove", "cooker"], &["vacuum", "hoover"], &["diaper", "nappy"], &["stroller", "pram", "pushchair"], &["smartphone", "mobile phone", "cell phone", "mobile", "cellphone"],
    &["sport", "sports"], &["laptop", "notebook computer"], &["earphones", "earbuds"], &["eggplant", "aubergine"], &["zucchini", "courgette"], &["cilantro", "coriander"],
    &["shrimp", "prawn"], &["candy", "sweets"], &["soda", "soft drink", "fizzy drink"], &["veg", "vegetable", "veggie"], &["dairy", "dairy product", "milk product"], &["sparkling water", "fizzy water", "carbonated water"],
    &["holiday", "vacation"], &["trip", "journey"], &["flight", "plane ride"], &["luggage", "baggage"], &["seat", "place to sit"], &["coast", "seaside"], &["forest", "woods"],
    &["meeting", "mtg"], &["timetable", "schedule"], &["deadline", "due date"], &["company", "firm"], &["summary", "recap"], 
    &["error", "mistake"], &["database", "db"], &["repository", "repo"], &["documentation", "docs"], &["email", "e-mail"], &["task", "to-do", "todo"],
    &["pet", "house pet"], &["puppy", "young dog"], &["kitten", "young cat"], &["hobby", "pastime", "leisure activity"], &["gardening", "do gardening", "do the gardening"],
    // qualities
    &["big", "large"], &["quick", "fast", "rapid"], &["noisy", "loud"], &["brief", "short", "concise"], &["cheap", "inexpensive"], &["expensive", "costly", "pricey"],
    &["second-hand", "secondhand", "used", "pre-owned"], &["near", "nearby", "not far from", "in the vicinity of"], &["near the", "close to the"], &["next to", "beside", "adjacent to", "right by"], &["easy", "simple"],
    &["wrong", "incorrect"], &["sufficient", "enough"], &["favorite", "favourite", "fave"], &["tasty", "delicious"], &["beautiful", "pretty", "lovely"], &["frightening", "scary"],
    &["daily", "every day", "each day"], &["weekly", "every week", "each week", "once a week"], &["monthly", "every month", "each month", "once a month"], &["yearly", "every year", "each year", "once a year", "annually", "annual"], &["twice a week", "two times a week"], &["twice a day", "two times a day"],
    &["often", "frequently"], &["usually", "normally", "generally", "typically", "as a rule"], &["sometimes", "at times", "now and then", "from time to time"], &["rarely", "seldom"], &["about", "around", "roughly", "approximately", "approx"],
    &["alone", "by himself", "by herself", "on his own", "on her own"], &["together", "jointly"], &["abroad", "overseas"], &["maximum", "max"], &["soon", "shortly"], &["too", "also", "as well"],
];

/// By the lemmas of a phrase: what stands for it. Longer phrases are to be looked for first.
static KNOWN: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut known = HashMap::new();
    for row in ROWS {
        let first = phrase(row[0]);
        for words in *row {
            known.entry(phrase(words)).or_insert_with(|| first.clone());
        }
    }
    known
});

fn phrase(words: &str) -> String {
    let lemmas: Vec<String> = shortened(words)
        .iter()
        .map(|word| {
            if word == "an" {
                "a".to_owned()
            } else {
                lemma(word).0
            }
        })
        .collect();
    lemmas.join(" ")
}

/// The single words of the lists, each with what stands for it.
pub(crate) fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = ROWS
        .iter()
        .flat_map(|row| row.iter().map(|word| (*word, row[0])));
    rows.filter(|(word, _)| !word.contains(' '))
}

/// Longest phrase of the lists, in words.
pub(super) const LONGEST: usize = 6;

/// What stands for a phrase of lemmas.
pub(super) fn class(lemmas: &str) -> Option<&'static str> {
    KNOWN.get(lemmas).map(String::as_str)
}
