//! The quantifiers guard: how many, how often, how exactly.

use super::Classes;

#[rustfmt::skip]
pub(super) const CLASSES: Classes = &[
    ("all", &["all", "every", "each", "everyone", "everybody", "always", "constantly", "any", "whole", "entire", "所有", "全部", "每个", "总是", "一直", "都", "全都", "いつも", "全て", "alle", "immer", "jeder", "todos", "siempre"]),
    ("most", &["most", "mostly", "mainly", "majority", "nearly all", "almost all", "大多", "大部分", "大多数", "多数", "meistens", "mayoría"]),
    ("often", &["often", "frequently", "usually", "regularly", "generally", "normally", "typically", "常", "经常", "常常", "通常", "平时", "よく", "oft", "a menudo"]),
    ("some", &["some", "several", "sometimes", "at times", "now and then", "certain", "partly", "有些", "有的", "部分", "有时", "时不时", "時々", "manchmal", "a veces", "algunos"]),
    ("rarely", &["rarely", "seldom", "occasionally", "hardly", "barely", "few", "once in", "偶尔", "很少", "极少", "たまに", "selten"]),
    ("half", &["half of", "halb", "一半", "半数"]),
    ("only", &["only", "just", "merely", "exclusively", "nothing but", "只", "仅", "只有", "才", "だけ", "nur", "sólo", "solo"]),
    ("about", &["about", "around", "roughly", "approximately", "approx", "circa", "nearly", "almost", "大约", "大概", "差不多", "左右", "约", "几乎", "ungefähr", "etwa", "unos"]),
    ("at least", &["at least", "no less", "minimum", "至少", "最少", "起码", "mindestens"]),
    ("at most", &["at most", "up to", "no more", "maximum", "最多", "至多", "不超过", "höchstens"]),
    ("more than", &["more than", "over", "above", "超过", "以上"]),
    ("less than", &["less than", "under", "below", "不到", "以下"]),
    ("both", &["both", "俩", "两个都", "beide"]),
];
