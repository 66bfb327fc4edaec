//! Units and currencies: their names, and what converts exactly into what.

/// Canonical unit, factor into it as `mantissa × 10^-scale`, names. Names in Latin letters are
/// compared without case and must end where the word ends.
const UNITS: &[(&str, (i128, u32), &[&str])] = &[
    (
        "m",
        (1, 0),
        &["m", "metre", "metres", "meter", "meters", "米", "公尺"],
    ),
    (
        "m",
        (1000, 0),
        &[
            "km",
            "kms",
            "kilometre",
            "kilometres",
            "kilometer",
            "kilometers",
            "公里",
            "千米",
        ],
    ),
    (
        "m",
        (1, 2),
        &[
            "cm",
            "centimetre",
            "centimetres",
            "centimeter",
            "centimeters",
            "厘米",
            "公分",
        ],
    ),
    (
        "m",
        (1, 3),
        &[
            "mm",
            "millimetre",
            "millimetres",
            "millimeter",
            "millimeters",
            "毫米",
        ],
    ),
    ("mi", (1, 0), &["mi", "mile", "miles", "英里"]),
    (
        "km/h",
        (1, 0),
        &[
            "km/h",
            "kph",
            "kmh",
            "kilometres per hour",
            "kilometers per hour",
            "kilometres an hour",
            "kilometers an hour",
            "公里每小时",
        ],
    ),
    ("mph", (1, 0), &["mph", "miles per hour", "miles an hour"]),
    ("ha", (1, 0), &["ha", "hectare", "hectares", "公顷"]),
    ("acre", (1, 0), &["acre", "acres", "英亩"]),
    ("mu", (1, 0), &["亩", "畝"]),
    ("yd", (1, 0), &["yd", "yds", "yard", "yards"]),
    (
        "tbsp",
        (1, 0),
        &["tbsp", "tablespoon", "tablespoons", "汤匙"],
    ),
    ("tsp", (1, 0), &["tsp", "teaspoon", "teaspoons", "茶匙"]),
    ("cup", (1, 0), &["cup", "cups"]),
    ("pt", (1, 0), &["pint", "pints"]),
    ("ft", (1, 0), &["ft", "foot", "feet", "英尺"]),
    ("in", (1, 0), &["inch", "inches", "英寸", "寸"]),
    (
        "kg",
        (1, 0),
        &[
            "kg",
            "kgs",
            "kilo",
            "kilos",
            "kilogram",
            "kilograms",
            "公斤",
            "千克",
        ],
    ),
    (
        "kg",
        (1, 3),
        &["g", "gram", "grams", "gramme", "grammes", "克"],
    ),
    ("kg", (1, 6), &["mg", "milligram", "milligrams", "毫克"]),
    (
        "kg",
        (1, 9),
        &["mcg", "µg", "microgram", "micrograms", "微克"],
    ),
    ("kg", (5, 1), &["斤", "市斤"]),
    ("kg", (1000, 0), &["tonne", "tonnes", "吨", "噸"]),
    ("lb", (1, 0), &["lb", "lbs", "磅"]),
    ("oz", (1, 0), &["oz", "ounce", "ounces", "盎司"]),
    (
        "l",
        (1, 0),
        &["l", "litre", "litres", "liter", "liters", "升", "公升"],
    ),
    (
        "l",
        (1, 3),
        &[
            "ml",
            "millilitre",
            "millilitres",
            "milliliter",
            "milliliters",
            "毫升",
        ],
    ),
    ("gal", (1, 0), &["gallon", "gallons", "加仑"]),
    (
        "s",
        (1, 0),
        &["sec", "secs", "second", "seconds", "秒", "秒钟"],
    ),
    (
        "min",
        (1, 0),
        &["min", "mins", "minute", "minutes", "分钟", "分鐘"],
    ),
    (
        "min",
        (60, 0),
        &[
            "h",
            "hr",
            "hrs",
            "hour",
            "hours",
            "小时",
            "小時",
            "个小时",
            "钟头",
            "時間",
        ],
    ),
    ("day", (1, 0), &["day", "days", "天", "日間"]),
    (
        "day",
        (7, 0),
        &["week", "weeks", "周", "个星期", "星期", "礼拜", "週間"],
    ),
    (
        "month",
        (1, 0),
        &["month", "months", "个月", "個月", "か月", "ヶ月"],
    ),
    ("year", (1, 0), &["year", "years", "yr", "yrs"]),
    (
        "°C",
        (1, 0),
        &[
            "°c",
            "℃",
            "celsius",
            "degrees celsius",
            "degree celsius",
            "摄氏度",
        ],
    ),
    (
        "°F",
        (1, 0),
        &["°f", "℉", "fahrenheit", "degrees fahrenheit", "华氏度"],
    ),
    ("°", (1, 0), &["°", "degrees", "degree", "度"]),
    ("%", (1, 0), &["%", "percent", "per cent", "pct", "％"]),
    ("‱", (1, 0), &["‱"]),
    ("‰", (1, 0), &["‰", "permille"]),
    ("kB", (1, 0), &["kb", "kilobyte", "kilobytes"]),
    ("MB", (1, 0), &["mb", "megabyte", "megabytes"]),
    ("GB", (1, 0), &["gb", "gigabyte", "gigabytes"]),
    ("TB", (1, 0), &["tb", "terabyte", "terabytes"]),
    ("kWh", (1, 0), &["kwh", "kilowatt hours", "度电"]),
    ("Hz", (1, 0), &["hz", "hertz"]),
    ("MHz", (1, 0), &["mhz", "megahertz"]),
    ("GHz", (1, 0), &["ghz", "gigahertz"]),
    ("Mbit/s", (1, 0), &["mbps", "mbit/s", "megabits per second"]),
    ("mAh", (1, 0), &["mah", "毫安时"]),
    ("dB", (1, 0), &["db", "decibel", "decibels", "分贝"]),
    ("px", (1, 0), &["px", "pixel", "pixels", "像素"]),
    (
        "ft²",
        (1, 0),
        &["ft²", "sqft", "sq ft", "square feet", "平方英尺"],
    ),
    ("W", (1, 0), &["w", "watt", "watts", "瓦"]),
    ("kW", (1, 0), &["kw", "kilowatt", "kilowatts", "千瓦"]),
    ("kcal", (1, 0), &["kcal", "calories", "大卡"]),
    (
        "m²",
        (1, 0),
        &[
            "m²",
            "sqm",
            "sq m",
            "m2",
            "square metres",
            "square meters",
            "平方米",
            "平米",
            "平",
        ],
    ),
    (
        "EUR",
        (1, 0),
        &["eur", "euro", "euros", "€", "欧元", "歐元"],
    ),
    (
        "USD",
        (1, 0),
        &["usd", "dollar", "dollars", "bucks", "美元", "美金"],
    ),
    ("GBP", (1, 0), &["gbp", "quid", "英镑"]),
    (
        "CNY",
        (1, 0),
        &["cny", "rmb", "yuan", "元", "块", "块钱", "塊", "人民币"],
    ),
    ("JPY", (1, 0), &["jpy", "yen", "円", "日元"]),
    ("CHF", (1, 0), &["chf", "francs"]),
    ("INR", (1, 0), &["inr", "rupees"]),
    ("times", (1, 0), &["times", "x", "次", "回", "遍"]),
    (
        "year-old",
        (1, 0),
        &[
            "years old",
            "year old",
            "year-old",
            "years-old",
            "岁",
            "歲",
            "周岁",
            "歳",
        ],
    ),
];

/// The words of all names in Latin letters.
pub(crate) fn latin_words() -> impl Iterator<Item = &'static str> {
    let names = UNITS.iter().flat_map(|(_, _, names)| names.iter().copied());
    names.flat_map(|name| name.split([' ', '-', '/']))
}

/// All names in ASCII letters as a regex alternation, longest first.
pub(crate) fn latin_names() -> String {
    alternation(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.is_ascii())
}

/// All other names as a regex alternation, longest first.
pub(crate) fn other_names() -> String {
    let names = alternation(|name| {
        !(name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.is_ascii())
    });
    format!("(?i:{names})")
}

fn alternation(wanted: impl Fn(&str) -> bool) -> String {
    let mut names: Vec<&str> = UNITS
        .iter()
        .flat_map(|(_, _, names)| names.iter().copied())
        .filter(|n| wanted(n))
        .collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    // The pattern is written in free spacing.
    names.join("|").replace(' ', r"\x20")
}

/// The canonical unit of a name, and the factor into it.
pub(crate) fn lookup(name: &str) -> Option<(&'static str, (i128, u32))> {
    let name = name.to_lowercase();
    UNITS
        .iter()
        .find(|(_, _, names)| names.contains(&name.as_str()))
        .map(|(unit, factor, _)| (*unit, *factor))
}

/// The currency of a sign. `¥` is read as yuan; a text that means yen says so on both sides.
pub(crate) fn currency(sign: &str) -> &'static str {
    match sign.to_uppercase().as_str() {
        "€" => "EUR",
        "£" => "GBP",
        "¥" => "CNY",
        "₹" => "INR",
        "₩" => "KRW",
        "₽" => "RUB",
        "HK$" => "HKD",
        "NT$" => "TWD",
        "AU$" => "AUD",
        "CA$" => "CAD",
        _ => "USD",
    }
}
