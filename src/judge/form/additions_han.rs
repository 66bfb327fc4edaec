//! What may be added to a Chinese sentence and leave what it says as it is.
//!
//! Chinese marks neither limits nor conditions nor endings: `，周末`, `（旧）`, `，退了` and `，医生说的` all look
//! like a further detail. They cannot be listed, so what may be added is: a clause of one of a few closed
//! shapes, read from its first to its last character, and inside the sentence a companion of the one who acts
//! or a plain quality of what was counted.

use super::superset::limits;
use super::token::Token;
use crate::judge::cues;

/// Longest clause that may be added, in tokens.
const CLAUSE: usize = 14;

/// Characters that a clause of a name, a place or a reason never has: of time, of what ended, changed or depends.
const TURNS: &str = "的了过着时候期间后前来去回到换改搬停退辞离又还就才也都再没未别该要算让叫给把被从向对和跟或且而";

/// The same for a place or a duty, whose name may have some of them: 前门 is taken for a time, 协和 is none.
const OTHER_TIMES: &str = "的了过着时候期间后前没再又还就才";

/// Whether every clause of `tail`, which follows `short` and a comma or dash or stands in brackets, only adds to it.
pub(super) fn is_tail(tail: &[Token], short: &[Token]) -> bool {
    tail.split(|t| t.is(","))
        .all(|clause| is_addition(clause, short))
}

fn is_addition(clause: &[Token], short: &[Token]) -> bool {
    (2..=CLAUSE).contains(&clause.len())
        && (is_reason(clause)
            || !limits(clause)
                && (is_name(clause)
                    || is_who(clause)
                    || is_age(clause)
                    || is_reminder(clause)
                    || is_occupation(clause, short)
                    || is_stay(clause)
                    || is_apart(clause, short)))
}

pub(super) fn text_of(tokens: &[Token]) -> String {
    tokens.iter().map(|t| t.text.as_str()).collect()
}

/// The text of tokens none of which is a number, a date or a code.
fn plain_text(tokens: &[Token]) -> Option<String> {
    (!tokens.iter().any(Token::is_item)).then(|| text_of(tokens))
}

fn is_free_of(text: &str, characters: &str) -> bool {
    !text.chars().any(|c| characters.contains(c))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// `名叫豆包`, `叫咪咪`.
fn is_name(clause: &[Token]) -> bool {
    const CALLED: &[&str] = &["名叫", "名字叫", "名字是", "名为", "取名", "叫"];
    // 叫他来, 叫得响, 叫个不停, 叫大家
    const NO_NAME: &str = "他她它我你您们得个人声醒大家";
    let Some(text) = plain_text(clause) else {
        return false;
    };
    let name = CALLED.iter().find_map(|word| text.strip_prefix(word));
    name.is_some_and(|name| {
        let han = !name.is_ascii();
        (1..=if han { 4 } else { 20 }).contains(&length(name))
            && name.chars().all(char::is_alphanumeric)
            && is_free_of(name, TURNS)
            && is_free_of(name, NO_NAME)
    })
}

/// `是护士`, `老师姓陈`.
fn is_who(clause: &[Token]) -> bool {
    #[rustfmt::skip]
    const OCCUPATIONS: &[&str] = &[
        "护士", "医生", "大夫", "老师", "教师", "程序员", "律师", "工程师", "会计", "厨师", "司机", "警察", "军人", "公务员", "学生", "大学生", "设计师", "记者", "演员", "销售", "画家", "作家", "翻译",
    ];
    let Some(text) = plain_text(clause) else {
        return false;
    };
    let works = text.strip_prefix('是');
    let named = text.split_once('姓');
    works.is_some_and(|what| OCCUPATIONS.contains(&what))
        || named.is_some_and(|(who, name)| SUBJECTS.contains(&who) && length(name) == 1)
}

/// `看病要提醒医生`: who is to be told of it.
fn is_reminder(clause: &[Token]) -> bool {
    const WHOM: &[&str] = &["医生", "护士", "厨师", "餐厅"];
    let Some(text) = plain_text(clause) else {
        return false;
    };
    ["要提醒", "记得提醒"].iter().any(|remind| {
        text.split_once(remind).is_some_and(|(when, whom)| {
            length(when) <= 3
                && is_free_of(when, TURNS)
                && (WHOM.contains(&whom) || SUBJECTS.contains(&whom))
        })
    })
}

/// `今年五十岁`.
fn is_age(clause: &[Token]) -> bool {
    let [now, age @ ..] = clause else {
        return false;
    };
    let aged = match age {
        [age] => age.unit() == Some("year-old"),
        [age, years] => age.is_item() && years.is("岁"),
        _ => false,
    };
    now.is_item() && now.text == "今年" && aged
}

/// `在市一院上班`, `负责贷款`.
fn is_occupation(clause: &[Token], short: &[Token]) -> bool {
    const WORKS: &[&str] = &["上班", "工作", "任职", "任教", "读书", "上学"];
    let Some(text) = plain_text(clause) else {
        return false;
    };
    let place = text
        .strip_prefix('在')
        .and_then(|rest| WORKS.iter().find_map(|verb| rest.strip_suffix(verb)));
    // A second place may limit a first one.
    let place = place.filter(|_| !short.iter().any(|t| t.is("在")));
    // 负责人 is somebody.
    let duty = text
        .strip_prefix("负责")
        .filter(|duty| !duty.starts_with('人'));
    place
        .or(duty)
        .is_some_and(|what| (2..=8).contains(&length(what)) && is_free_of(what, OTHER_TIMES))
}

/// `在奈良住了一周`.
fn is_stay(clause: &[Token]) -> bool {
    let [first, place @ .., live, done, span] = clause else {
        return false;
    };
    first.is("在")
        && live.is("住")
        && done.is("了")
        && span.is_item()
        && (1..=6).contains(&place.len())
        && plain_text(place).is_some_and(|place| is_free_of(&place, TURNS))
}

/// One more thing of the one who is spoken of, which shares no word with what was said: `住在通州`.
fn is_apart(clause: &[Token], short: &[Token]) -> bool {
    // Words that hold no topic may stand in both.
    let said = text_of(short).replace(['在', '了', '的', '有', '是'], "");
    plain_text(clause)
        .is_some_and(|text| cues::stands_alone(&text) && cues::are_apart(&said, &text))
}

/// A reason that is a lasting state, which ends with what it is: `因为乳糖不耐受`, `因为离公司近`, `觉得口感滑腻`. What
/// ends with something done may tell that all is over: `因为太忙退了`.
pub(super) fn is_reason(clause: &[Token]) -> bool {
    const STATES: &[&str] = &[
        "过敏",
        "不耐受",
        "不好",
        "不舒服",
        "方便",
        "便宜",
        "太贵",
        "很贵",
        "近",
        "远",
        "好吃",
        "难吃",
        "健康",
        "安静",
        "太吵",
        "很吵",
        "太辣",
        "太甜",
        "太苦",
        "太腥",
        "太油",
        "很累",
        "太累",
    ];
    let Some(text) = plain_text(clause) else {
        return false;
    };
    if let Some(opinion) = text.strip_prefix("觉得") {
        return (2..=6).contains(&length(opinion)) && !limits(clause) && is_free_of(opinion, TURNS);
    }
    let Some(reason) = ["因为", "由于"].iter().find_map(|w| text.strip_prefix(w)) else {
        return false;
    };
    // 怕 and one or two characters: 怕冷, 怕长胖.
    let fears = reason
        .strip_prefix('怕')
        .is_some_and(|what| (1..=2).contains(&length(what)) && is_free_of(what, TURNS));
    let state = STATES.iter().find_map(|state| reason.strip_suffix(state));
    fears
        || state.is_some_and(|of| {
            let of = of.strip_prefix(['对', '离']).unwrap_or(of);
            length(of) <= 6 && is_free_of(of, TURNS) && is_free_of(of, "不只如若假曾说想除")
        })
}

/// Whether `gap` may stand between `before` and `next`.
pub(super) fn is_gap(before: &[Token], gap: &[Token], next: &Token) -> bool {
    !limits(gap) && (is_company(before, gap, next) || is_quality(before, gap, next))
}

/// `每周日[和老李]去公园`: with whom somebody does something, where the sentence tells so far at most who and when.
/// After a verb a companion limits it: `讨厌和同事一起吃饭`.
fn is_company(before: &[Token], gap: &[Token], next: &Token) -> bool {
    const VERBS: &[&str] = &[
        "去", "来", "吃", "看", "住", "逛", "爬", "游", "跑", "练", "上", "打",
    ];
    let [with, who @ ..] = gap else {
        return false;
    };
    if !with.is_any(&["和", "跟", "与"]) || !next.is_any(VERBS) || !is_who_and_when(before) {
        return false;
    }
    // 一起 counts as a number in some texts.
    let who = match who {
        [who @ .., one, last]
            if last.is_any(&["起", "同", "块"]) && (one.is("一") || one.text == "1") =>
        {
            who
        }
        all => all,
    };
    plain_text(who).is_some_and(|who| is_person(&who))
}

/// Subjects that are surely whole: what follows them is said of them.
#[rustfmt::skip]
const SUBJECTS: &[&str] = &[
    "用户", "我", "他", "她", "我们", "他们", "她们", "妻子", "老婆", "太太", "丈夫", "老公", "妈妈", "母亲", "爸爸", "父亲", "爸妈", "父母", "儿子", "女儿", "孩子", "哥哥", "弟弟", "姐姐",
    "妹妹", "爷爷", "奶奶", "外公", "外婆", "姥姥", "姥爷", "男友", "女友", "男朋友", "女朋友", "朋友", "同事", "同学", "老师", "室友", "邻居", "老板", "客户",
];

/// Whether the tokens are one of [`SUBJECTS`], perhaps of the user.
pub(super) fn is_subject(tokens: &[Token]) -> bool {
    plain_text(tokens).is_some_and(|text| {
        let of_user = text.strip_prefix("用户的").or(text.strip_prefix("用户"));
        let of_user = of_user.filter(|rest| !rest.is_empty());
        SUBJECTS.contains(&of_user.unwrap_or(&text))
    })
}

fn is_who_and_when(tokens: &[Token]) -> bool {
    let spoken = tokens.iter().filter(|t| !t.is_item()).cloned();
    let spoken: Vec<Token> = spoken.filter(|t| !t.is("每")).collect();
    spoken.is_empty() || is_subject(&spoken)
}

/// Somebody by relation or by a short name: 小雅, 老李.
fn is_person(text: &str) -> bool {
    let named = text.starts_with(['小', '老', '阿']) && length(text) == 2;
    let latin = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphabetic());
    (named || latin || SUBJECTS.contains(&text)) && is_free_of(text, TURNS)
}

/// `一只[三岁的]柯基`: an age, a colour or a size of what was counted.
fn is_quality(before: &[Token], gap: &[Token], next: &Token) -> bool {
    const QUALITIES: &[&str] = &[
        "黑色",
        "白色",
        "红色",
        "蓝色",
        "绿色",
        "黄色",
        "灰色",
        "银色",
        "棕色",
        "橙色",
        "紫色",
        "粉色",
        "很大",
        "很小",
        "很可爱",
        "很漂亮",
    ];
    let counted = matches!(before, [.., number, measure] if number.is_item() && measure.is_han());
    let [quality @ .., of] = gap else {
        return false;
    };
    let aged = matches!(quality, [age] if age.unit() == Some("year-old"))
        || matches!(quality, [age, years] if age.is_item() && years.is("岁"));
    counted
        && next.is_han()
        && of.is("的")
        && (aged || plain_text(quality).is_some_and(|text| QUALITIES.contains(&text.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::form::token::characters as tokens;

    #[test]
    fn clauses_that_only_add() {
        for (short, tail) in [
            ("养了猫", "叫咪咪"),
            ("养了猫", "名叫豆包"),
            ("妻子叫小雅", "是护士"),
            ("在学吉他", "老师姓陈"),
            ("青霉素过敏", "看病要提醒医生"),
            ("妻子是护士", "在协和上班"),
            ("在银行工作", "负责贷款"),
            ("在北京工作", "住在通州"),
            ("不喝牛奶", "因为乳糖不耐受"),
            ("不吃蘑菇", "觉得口感滑腻"),
            ("在家办公", "因为离公司远"),
            ("养了猫", "叫咪咪,住在通州"),
        ] {
            assert!(is_tail(&tokens(tail), &tokens(short)), "{short},{tail}");
        }
    }

    #[test]
    fn clauses_that_may_limit_or_end() {
        for (short, tail) in [
            ("住在上海", "周末"),
            ("住在上海", "暂时的"),
            ("喜欢喝茶", "绿茶"),
            ("喜欢喝茶", "喜欢喝绿茶"),
            ("买了新房", "退了"),
            ("有高血压", "他爸"),
            ("项目用Go写", "因为太慢换了"),
            ("买了机票", "因为太贵退了"),
            ("在北京工作", "因为房租太贵搬走"),
            ("养了猫", "叫朋友来"),
            ("养了猫", "叫停"),
            ("会开车", "觉得还行"),
            ("在深圳", "在广州上班"),
            ("是老板", "负责人另有其人"),
            ("他是医生", "在退休前上班"),
            ("养了猫", "叫咪咪,送人了"),
            ("养了猫", ""),
        ] {
            assert!(!is_tail(&tokens(tail), &tokens(short)), "{short},{tail}");
        }
    }

    #[test]
    fn company_of_the_one_who_acts() {
        let go = Token::word("去");
        for (before, gap, may) in [
            ("用户", "和老李", true),
            ("用户", "和小雅一起", true),
            ("", "跟妻子", true),
            ("喜欢", "和同学一起", false),
            ("用户", "同意", false),
            ("用户", "和小雅说起", false),
            ("用户经常", "和同事", false),
        ] {
            let found = is_gap(&tokens(before), &tokens(gap), &go);
            assert_eq!(found, may, "{before}[{gap}]去");
        }
    }
}
