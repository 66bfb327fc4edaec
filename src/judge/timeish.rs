//! Times that float: words of time that may mean another time when they are said on another day.
//!
//! Two equal texts said on two days are one fact only if they carry no expression of time at all,
//! or if in each clause that has one something says that it comes round again (`every`, `usually`,
//! `on Fridays`, 每天) or names the full date. Words that look from the day they are said on
//! (`soon`, `still`, `tmrw`, 一会儿) are never excused, nor are scripts whose words for times are not
//! known here. A false find costs a duplicate, so the lists are wide.

use std::sync::LazyLock;

use super::dates::{DATE, WEEKLY};
use super::facts::Facts;
use super::items::{Item, is_mark};
use super::pattern::{Pattern, pattern};
use super::sentences::{is_cjk, is_kana};

/// Words that look from the day they are said on.
static DEICTIC: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)
        \b(?: tmrw | tmr | tmw | tmoz | tomoz | tomorro | tomoro | 2mor\w+ | tonite | 2nite | 2day | yday | ystd | eod | eow | eom | eoy | cob | eob | asap # typos:ignore
        | now | rn | atm | currently | presently | already | yet | still | soon | sooner | later | earlier | ago | within | last | (?:un)?til\x20[a-z]\w* | till\x20[a-z]\w* | since\x20[a-z]\w*
        | next\x20(?:[^t\s]|t[^o\s])\w* | upcoming | (?:the|this)\x20coming | previous | the\x20(?:following|past) | current | recent | newly | again | meanwhile | overdue | imminent(?:ly)?
        | immediately | momentarily | temporar(?:y|ily) | \w*(?:teen|middle)-?aged? | aged? | ages | moment | \w+time | (?:in|for|after)\x20a\x20(?:bit|while|sec|tick|jiffy|few) | (?:some|long|short|much|this|that)\x20time # typos:ignore
        | half\x20past | quarter\x20(?:to|past) | o'clock | yo | y/o | arvo | wknds? | hols | freshly | brand\x20new | halfway | t\x20minus | by\x20the\x20time | \w+ish\x20o\w* | (?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)ies | teens | gleich | [qh][1-4] | the\x20other\x20\w+ | days?\x20(?:before|after) | this\x20\w*(?:term|sprint|holiday|season|night|break)\w*
        | bald | jetzt | gerade | seit | bis | nächste\w* | letzte\w* | kommende\w* | momentan | derzeit | später | früher | schon | noch | wieder | soeben | demnächst
        | ahora | pronto | luego | próxim\w+ | pasad[oa]s? | desde | hasta | todavía | ya | bientôt | maintenant | prochaine?s? | derni[eè]re?s? | depuis | déjà | encore | après-demain | avant-hier # typos:ignore
        | adesso | presto | prossim\w+ | scors[oaie] | stasera | stamattina | stanotte | già | ancora | dopodomani | agora | passad[oa]s? | já | ainda
        | straks | volgende | vorige | vanavond | vanochtend | vanmiddag | binnenkort | nu | zojuist )\b
        | \b(?:\d+\x20?(?:d|w|wks?|mos?|mths?|nites?) | \d+ish)\b
        | 一会|待会|等会|等下|等一下|回头|改天|改日|[下上这那][次回]|次日|翌|隔[天日]|当[天日晚时年]|那[天晚时年]|届时|到时|[今明昨后前]儿|今后|往后|日后|以后|之后|随后|稍后|过后|后来|然后|以来|至今|迄今|以前|之前
        |过会|五一|初[一二三四五六七八九十]|目前|现在|如今|眼下|当前|当下|此刻|正在|暂时|临时|马上|立刻|立即|即将|快要|将要|就要|刚|剛|最近|近来|近期|近日|段时间|阵子|[这那]会|不久|已经|曾|从前|先前|早就|期间|时候|早些|晚些|早点|晚点|[这那本]个?[周月季年]|有一?天|某[天日]|几天|[又再]
        |きょう|きのう|あした|あす|あさって|おととい|これから|さっき|いま|もうすぐ|まもなく|そのうち|また|もう|まだ|来[年春夏秋冬月週]|先日|前日|今[度年月日]|この前|最中",
    )
});

/// Words of time that are harmless in a clause that recurs or is dated in full.
static PERIODIC: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)
        \b(?: seconds | secs? | minutes? | mins? | hours? | hrs | days? | nights? | weeks? | fortnights? | months? | years? | yrs? | decades? | centur(?:y|ies) | quarters? | terms? | trimesters? | semesters? | seasons? | sprints?
        | week-?ends? | weekdays? | workdays? | holidays? | vacations? | springs? | summers? | autumns? | winters? | (?:in|the)\x20fall | christmas | x-?mas | easter | halloween | thanksgiving | hanukkah | chanukah
        | ramadan | eid | diwali | passover | lent | pentecost | whitsun | carnival | new\x20year\w* | nye | hogmanay | valentine\w* | lunar\x20new\w* | midsummer | black\x20friday
        | mornings? | afternoons? | evenings? | dawn | dusk | sunrise | sunset | sundown | daybreak | nightfall | noon | midnight | midday | midweek | overnight | (?:after|before|over|by|at)\x20(?:breakfast|brunch|lunch|dinner|supper)
        | (?:after|before|by)\x20(?:the|his|her|my|our|their|your) | (?:after|before)\x20(?:work|school|class|practice|bed) | payday | midyear | fortnight\w* | bedtime
        | tage?n? | wochen?\w* | monate?n? | jahre?n? | stunden? | minuten? | morgens? | abends? | mittags? | nachmittags? | vormittags? | nachts? | frühling | sommer | herbst | ostern | weihnachten | silvester | pfingsten | uhr | ferien | urlaub # typos:ignore
        | semanas? | mes(?:es)? | años? | días? | horas? | minutos? | tarde | noche | madrugada | verano | invierno | primavera | otoño | navidad | pascua | vacaciones | finde # typos:ignore
        | semaines? | mois | ans | années? | jours? | heures? | matin | soir | nuit | midi | été | hiver | printemps | automne | noël | pâques | vacances
        | settiman[ae] | mes[ei] | ann[oi] | giorn[oi] | or[ae] | mattina | sera | notte | estate | inverno | natale | pasqua | mês | anos? | dias? | manhã | noite | natal | páscoa | férias
        | maandag | dinsdag | woensdag | donderdag | vrijdag | zaterdag | zondag | segunda | terça | quarta | quinta | sexta | lunedì | martedì | mercoledì | giovedì | venerdì | sabato | domenica
        | lundi | mardi | mercredi | jeudi | vendredi | samedi | dimanche | janvier | février | mars | avril | juin | juillet | août | septembre | octobre | décembre | januari | februari | maart | mei | juli | augustus
        | gennaio | febbraio | aprile | maggio | giugno | luglio | settembre | ottobre | dicembre | janeiro | fevereiro | março | maio | junho | julho | setembro | outubro | novembro | dezembro | maand(?:en)? | jaar | jaren | dag(?:en)? | uur | uren | ochtend | avond | nacht | zomer | pasen | kerst\w* )\b
        | [\u{F0000}-\u{FFFFD}]\x20(?:birthday|to\x20go|left|remaining|down|more|away) | \b(?:kw|cw|wk)\x20?[\u{F0000}-\u{FFFFD}] | \bin\x20[\u{F0000}-\u{FFFFD}]\x20\w
        | 周末|週末|[月年季周][底末初中]|季度|学期|學期|学年|小时|小時|分钟|分鐘|钟头|刻钟|星期|礼拜|禮拜|[一两几半多整数\u{F0000}-\u{FFFFD}]个?[天日周月年晚夜早宿]|[天周月年日][内后前里间]|[岁歲]|清早|大早|一早|早晨|[深午半夜]夜|夜晚|夜间|夜里|白天|黄昏|午[后饭休]|[饭课][后前]|下班|放学
        |[春夏秋冬](?:天|季|末|初|假|游|令)|春节|元旦|中秋|端午|国庆|清明|除夕|圣诞|元宵|七夕|过年|新年|年夜|双11|双\u{F0000}|五一|[暑寒长年][假期]|假[期日]|节[日假]|[人亲恩圣活]节|聚会前
        |週末|月末|年末|年始|時間|[かヶ]月|ごろ|頃|夕方|正月|クリスマス|今朝|毎朝|お盆|夏休み|冬休み",
    )
});

/// Marks that what a clause says comes round again.
static RECURS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)
        \b(?:most|all)\x20(?:days|nights|weeks|weekends|mornings|evenings|afternoons|months|years) | \b(?:every|each)\x20(?:other\x20|second\x20|third\x20|single\x20|working\x20)?(?:[\u{F0000}-\u{FFFFD}] | day | night | week | weekend | weekday | workday | month | year | hour | season | term | semester | quarter | sprint
            | spring | summer | autumn | winter | christmas | easter | holiday | new\x20year | time )
        | \b(?:daily|nightly|weekly|fortnightly|annually|always|usually|normally|generally|typically|habitually|regularly|often|sometimes|rarely|seldom
            | weekends | weekdays | workdays | (?:once|twice|times|hours|nights|minutes|days)\x20(?:a|an|per)\x20(?:day|week|month|year|night|hour) | per\x20(?:day|week|month|year|night|hour|term|season)
            | jeden | jede | jedes | immer | täglich | meistens | cada | siempre | todos\x20los | todas\x20las | tous\x20les | toutes\x20les | chaque | toujours | ogni | sempre | elke | altijd)\b
        | [\u{F0000}-\u{FFFFD}]\x20an?\x20(?:day|week|month|year|night|hour)\b | [每毎](?:个|個|隔|逢|到)?(?:天|日|周|週|星期|礼拜|月|年|晚|早|夜|朝|季|学期|小时|次|春|夏|秋|冬|[\u{F0000}-\u{FFFFD}]) | 天天|夜夜|年年|月月|周周|总是|總是|通常|一般|平时|平日|经常|常常|往往|一向|向来|习惯|いつも|普段|たいてい",
    )
});

/// A birthday with its day, which is the same one every year.
static BIRTHDAY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?:birthday|anniversary|born)(?: is| falls)?(?: on| in)? ?[\u{F0000}-\u{FFFFD}]|[\u{F0000}-\u{FFFFD}] is (?:[\w']+ ){1,3}(?:birthday|anniversary)$|(?:生日|纪念日|紀念日|出生|誕生日)[是在于于为はが]{0,2}[\u{F0000}-\u{FFFFD}]|[\u{F0000}-\u{FFFFD}](?:出生|是\w{0,6}(?:生日|纪念日)$|生まれ)",
    )
});

/// Ends of clauses; `and` joins two if no date follows (`every Monday and Friday`).
static BORDER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"[.;,!?。，、；:()\n]|\b(?:and|but|or|then|while|und|aber|oder|pero|mais|ma|maar) ")
});

/// Words before a plural that counts or picks some: `those Fridays`.
#[rustfmt::skip]
const PICKS: &[&str] = &[
    "the", "these", "those", "both", "some", "several", "few", "many", "of", "his", "her", "my",
    "our", "their", "your", "two", "three",
];

/// The words for times that float in a text, given in lower case and as what the guards found.
pub(crate) fn floating(lower: &str, facts: &Facts) -> Vec<String> {
    let mut found: Vec<String> = facts.relative.iter().map(|i| i.words.clone()).collect();
    found.extend(DEICTIC.find_iter(lower).map(|m| m.as_str().to_owned()));
    let known = |c: char| c.is_ascii() || ('\u{80}'..='\u{FF}').contains(&c) || is_cjk(c);
    found.extend(
        lower
            .chars()
            .find(|c| c.is_alphabetic() && !known(*c) && !is_kana(*c) && *c != 'ー')
            .map(String::from),
    );
    if lower.contains(is_kana) {
        found.extend(
            lower
                .chars()
                .filter(|c| "朝昼夜晩今".contains(*c))
                .map(String::from),
        );
    }
    let rest = facts.rest.to_lowercase();
    for clause in clauses(&rest) {
        found.extend(in_clause(clause, facts));
    }
    found
}

fn clauses(rest: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let mut start = 0;
    for border in BORDER.find_iter(rest) {
        if border.as_str().len() > 3 && rest[border.end()..].starts_with(is_mark) {
            continue;
        }
        clauses.push(&rest[start..border.start()]);
        start = border.end();
    }
    clauses.push(&rest[start..]);
    clauses
}

fn in_clause(clause: &str, facts: &Facts) -> Vec<String> {
    let here = |item: &&Item| clause.contains(item.mark);
    let dates: Vec<&Item> = facts.dates.iter().filter(here).collect();
    let before = |item: &Item| clause.split(item.mark).next().unwrap_or_default().trim();
    let counts = |word: &str| {
        let count = |n: &Item| n.unit.is_empty() && word.ends_with(n.mark);
        PICKS.contains(&word) || facts.numbers.iter().any(count)
    };
    let plural = |item: &Item| {
        (item.unit == WEEKLY
            || item.words.starts_with(['每', '毎'])
            || item.unit == "part of day" && item.words.ends_with('s'))
            && !counts(before(item).rsplit(' ').next().unwrap_or_default())
    };
    let dated = dates
        .iter()
        .any(|d| d.unit == DATE && !d.value.contains('?') || d.unit == "numeric date");
    if dated || dates.iter().any(|d| plural(d)) || RECURS.is_match(clause) {
        return Vec::new();
    }
    let birthday = BIRTHDAY.is_match(clause);
    let mut found: Vec<String> = dates
        .into_iter()
        .filter(|d| match d.unit.as_str() {
            DATE => d.value.starts_with('?') && (!birthday || d.value.ends_with("-??")),
            "lunar date" => !birthday,
            _ => true,
        })
        .map(|d| d.words.clone())
        .collect();
    found.extend(
        facts
            .numbers
            .iter()
            .filter(here)
            .filter(|n| is_time(n, before(n), clause))
            .map(|n| n.words.clone()),
    );
    found.extend(PERIODIC.find_iter(clause).map(|m| m.as_str().to_owned()));
    found
}

/// Whether a number is a duration, an age or an hour.
fn is_time(number: &Item, before: &str, clause: &str) -> bool {
    let value = number.value.parse::<u32>().unwrap_or(u32::MAX);
    let last = before.rsplit(' ').next().unwrap_or_default();
    let ends = clause.trim_end().ends_with(number.mark);
    match number.unit.as_str() {
        "s" | "min" | "day" | "month" | "year" | "year-old" => true,
        "ordinal" => PERIODIC.is_match(&number.words.to_lowercase()),
        "" if value <= 2400 && matches!(last, "at" | "@" | "until" | "till") => true,
        "" if value <= 120 => match last {
            "past" | "half" | "turned" | "turns" | "turning" | "age" | "aged" => true,
            "is" | "am" | "are" | "in" | "by" => ends,
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        Facts::read(text).floating
    }

    #[test]
    fn times_that_float() {
        for text in [
            "See you tmrw",
            "Party tonite",
            "Last Christmas in Rome",
            "Spends this Easter in Rome",
            "Next term in Rome",
            "Works on the API this sprint",
            "Exam within a week",
            "Exam is 3 days away",
            "3 days left",
            "Two more weeks to go",
            "Due in half an hour",
            "Sick since the weekend",
            "Going to Rome at the weekend",
            "Deadline is by EOD",
            "Pays at the end of the month",
            "Slept badly the night before",
            "Meeting with Bob at 3 pm",
            "Meeting with Bob at 3",
            "Arrives at noon",
            "Arrives in the morning",
            "Arrives at 15:00",
            "Is 5 weeks pregnant",
            "Baby is 3 months old",
            "Is 30 years old",
            "User is 30",
            "Has been sick for 3 days",
            "On May 5 there is a party",
            "Ana's birthday party is on 5 May",
            "Dentist on Friday",
            "Every guest arrives at noon",
            "Always tired, exam on Monday",
            "Missed two Fridays",
            "Report is due in Q3",
            "Call Bob after lunch",
            "Exam this arvo",
            "Meeting half nine",
            "Meeting @ 9",
            "Is in her thirties",
            "Sick all week",
            "First day at work",
            "Two down, one to go",
            "Her 40th birthday party",
            "Before the wedding",
            "In bed by ten",
            "KW 12",
            "Komt maandag",
            "Kommt gleich",
            "Moved recently",
            "Sick again",
            "Treffen am Wochenende",
            "Reunión la semana",
            "Жил в Риме",
            "周末去爬山",
            "三天内交",
            "还有三天",
            "一会儿开会",
            "待会儿开会",
            "月底交房租",
            "年底结婚",
            "下次见",
            "上次迟到",
            "两周内交",
            "明儿去爬山",
            "改天吃饭",
            "下午3点开会",
            "晚上吃火锅",
            "病了三天",
            "次日出发",
            "翌日出发",
            "隔天出发",
            "住了三年",
            "春节回家",
            "五一去爬山",
            "初三搬家",
            "这阵子很忙",
            "过会儿开会",
            "きょうは休み",
            "あした行く",
            "これから行く",
            "夜に行く",
        ] {
            assert_ne!(read(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn times_that_recur_or_are_dated() {
        for text in [
            "Prefers window seats on flights",
            "Lives next to Ana",
            "Deploys go out on Thursdays",
            "Runs 5 km every Tuesday",
            "Rent is due on the 3rd of each month",
            "Standup is at 9:30 on weekdays",
            "Usually drinks coffee in the morning",
            "Gym every Monday and Friday",
            "Works nights",
            "Works 3 days a week",
            "Her birthday is on 5 May",
            "Born on 5 May 1990",
            "Meeting with Bob on 14 May 2026 at 3 pm",
            "Vegan since 2019",
            "Owns 3 cats",
            "喜欢靠窗的座位",
            "每周三晚上学大提琴",
            "每天早上跑步",
            "生日是5月5日",
            "2024年5月14日下午3点开会",
            "喜欢天津的小吃",
        ] {
            assert_eq!(read(text), [] as [&str; 0], "{text}");
        }
    }
}
