//! Times of day and parts of the day, for the dates guard.

use std::sync::LazyLock;

use super::items::{Item, Rest};
use super::pattern::{Pattern, pattern};

/// `3 pm`, `3:30 p.m.`, `7 in the morning`, `ten at night` (as `10 at night`), `8 o'clock`.
static MARKED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?-u:\b)(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?
        \x20?(?P<half> am(?-u:\b) | pm(?-u:\b) | a\.m\. | p\.m\. | a\.m(?-u:\b) | p\.m(?-u:\b)
        | in\x20the\x20(?:early\x20)?(?:morning|afternoon|evening) | at\x20night | o'clock | uhr(?-u:\b) )",
    )
});

/// `15:00`, `09:15:30`.
static CLOCK: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?-u:\b)")
});

/// `下午3点半`, `晚上7点`, `15時30分`.
static HAN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)(?P<part>凌晨|清晨|早上|早晨|今早|明早|上午|中午|下午|傍晚|晚上|今晚|昨晚|明晚|夜里|半夜|午前|午後)?
        (?P<hour>\d{1,2})[点點時](?:钟|鐘|整)?(?P<rest>半|一刻|1刻|三刻|3刻|(?P<minute>\d{1,2})分?)?",
    )
});

static NAMED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)(?-u:\b)(?P<noon>noon|midday)(?-u:\b)|(?-u:\b)(?P<midnight>midnight)(?-u:\b)")
});

static PART: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?-u:\b)(?P<morning>mornings?)(?-u:\b) | (?-u:\b)(?P<afternoon>afternoons?)(?-u:\b)
        | (?-u:\b)(?P<evening>evenings?)(?-u:\b) | (?-u:\b)(?P<night>nights?)(?-u:\b)
        | (?P<morning_zh>早上|早晨|清晨|上午) | (?P<noon_zh>中午) | (?P<afternoon_zh>下午)
        | (?P<evening_zh>傍晚|晚上) | (?P<night_zh>夜里|半夜|凌晨)",
    )
});

/// Takes times out of the text. A time that is not marked as am or pm is read as it stands.
pub(crate) fn take(rest: &mut Rest) -> Vec<Item> {
    let mut items = rest.take(&MARKED, |captures, before, _| {
        let half = captures.name("half")?.as_str().to_lowercase();
        let hour: u32 = captures.name("hour")?.as_str().parse().ok()?;
        let minute = captures
            .name("minute")
            .map_or(Ok(0), |m| m.as_str().parse())
            .ok()?;
        let late = half.starts_with('p') || half.contains("noon") || half.contains("evening");
        let early = half.starts_with('a') && !half.contains("night") || half.contains("morning");
        let hour = match hour {
            12 if early => 0,
            1..=11 if late => hour + 12,
            6..=11 if half.contains("night") => hour + 12,
            _ => hour,
        };
        // `1.30 pm` must not start inside `11.30`.
        let inside = before.ends_with(|c: char| c.is_ascii_digit() || c == '.' || c == ':');
        (!inside)
            .then(|| time(hour, minute, captures.whole.as_str()))
            .flatten()
    });
    items.extend(rest.take(&CLOCK, |captures, before, _| {
        let hour = captures.name("hour")?.as_str().parse().ok()?;
        let minute = captures.name("minute")?.as_str().parse().ok()?;
        let inside = before.ends_with(|c: char| c.is_ascii_digit() || c == '.' || c == ':');
        let mut items = (!inside)
            .then(|| time(hour, minute, captures.whole.as_str()))
            .flatten()?;
        if let Some(second) = captures.name("second") {
            items[0].value.push_str(&format!(":{}", second.as_str()));
        }
        Some(items)
    }));
    items.extend(rest.take(&HAN, |captures, before, _| {
        let part = captures.name("part").map_or("", |m| m.as_str());
        let hour: u32 = captures.name("hour")?.as_str().parse().ok()?;
        let minute = match captures.name("rest").map_or("", |m| m.as_str()) {
            "半" => 30,
            "一刻" | "1刻" => 15,
            "三刻" | "3刻" => 45,
            _ => captures
                .name("minute")
                .map_or(Ok(0), |m| m.as_str().parse())
                .ok()?,
        };
        let hour = match (part, hour) {
            ("下午" | "傍晚" | "晚上" | "今晚" | "昨晚" | "明晚" | "午後", 1..=11)
            | ("夜里" | "半夜", 6..=11)
            | ("中午", 1..=2) => hour + 12,
            _ => hour,
        };
        let inside = before.ends_with(|c: char| c.is_ascii_digit() || c == '.');
        (!inside)
            .then(|| time(hour, minute, captures.whole.as_str()))
            .flatten()
    }));
    items.extend(rest.take(&NAMED, |captures, _, _| {
        let hour = if captures.name("noon").is_some() {
            12
        } else {
            0
        };
        time(hour, 0, captures.whole.as_str())
    }));
    items
}

/// The groups of [`PART`].
const PARTS: [&str; 9] = [
    "morning",
    "afternoon",
    "evening",
    "night",
    "morning_zh",
    "noon_zh",
    "afternoon_zh",
    "evening_zh",
    "night_zh",
];

/// Takes parts of the day that stand without a time. Run after relative words such as `last night`.
pub(crate) fn take_parts(rest: &mut Rest) -> Vec<Item> {
    rest.take(&PART, |captures, before, after| {
        // `night-shift` is no time.
        if before.ends_with('-') || after.starts_with('-') {
            return None;
        }
        let name = PARTS
            .into_iter()
            .find(|name| captures.name(name).is_some())?;
        let part = name.trim_end_matches("_zh");
        Some(vec![Item::new(
            part,
            "part of day",
            captures.whole.as_str(),
        )])
    })
}

fn time(hour: u32, minute: u32, words: &str) -> Option<Vec<Item>> {
    (hour <= 24 && minute < 60).then(|| {
        vec![Item::new(
            format!("{:02}:{minute:02}", hour % 24),
            "time",
            words,
        )]
    })
}
