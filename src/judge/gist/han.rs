//! A Chinese sentence as the words that carry it.
//!
//! Chinese has no blanks: characters are words unless the lists know a longer one.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Gist, Word};
use crate::judge::form::{self, Token};

/// Words of one meaning; the first one stands for all.
#[rustfmt::skip]
const ROWS: &[&[&str]] = &[
    // tastes
    &["喜欢", "喜爱"], &["喜欢吃", "爱吃"], &["喜欢喝", "爱喝"], &["喜欢看", "爱看"], &["喜欢听", "爱听"], &["喜欢玩", "爱玩"], &["喜欢去", "爱去"],
    &["讨厌", "反感", "厌恶"], &["害怕", "惧怕", "恐惧", "怕"], &["希望", "盼望"], &["担心", "担忧"], &["高兴", "开心", "快乐"], &["生气", "恼火"],
    // people
    &["妈妈", "母亲", "老妈", "妈"], &["爸爸", "父亲", "老爸", "爸"], &["妻子", "太太", "老婆", "媳妇"], &["丈夫", "老公"], &["孩子", "小孩", "小孩子"], &["医生", "大夫"], &["老师", "教师"],
    &["外婆", "姥姥"], &["外公", "姥爷"], &["男朋友", "男友"], &["女朋友", "女友"], &["警察", "民警"], &["程序员", "码农"], &["独生子", "独子"],
    // to live, to work, to do
    &["住在", "居住在", "住"], &["上班", "工作", "任职"], &["购买", "买"], &["租住", "租房"], &["睡觉", "就寝", "上床睡觉"], &["通勤", "上班路上", "上下班路上"],
    &["锻炼", "健身"], &["散步", "遛弯"], &["旅游", "旅行"], &["开车", "驾车"], &["减肥", "减重"], &["做饭", "烧饭", "煮饭", "下厨"], &["打扫", "清扫"], &["修理", "维修"], &["修好", "修复"],
    &["清空", "清掉", "清除", "清理掉"], &["删除", "删掉"], &["取消", "撤销"], &["推迟", "延期", "延后"], &["提醒", "提示"], &["回答", "回复", "答复"], &["联系", "联络"], &["使用", "用"], &["否决", "驳回"],
    &["打电话", "致电"], &["叫做", "名叫", "名字叫", "名字是", "名为"], &["每天", "天天", "每日"], &["参加", "参与"], &["帮助", "帮忙"], &["照顾", "照料"],
    // things
    &["自行车", "单车", "脚踏车"], &["土豆", "马铃薯", "洋芋"], &["西红柿", "番茄"], &["红薯", "地瓜", "番薯", "甘薯"], &["玉米", "苞米"], &["菠萝", "凤梨"], &["花生", "落花生"], &["猕猴桃", "奇异果"], &["圆白菜", "卷心菜", "包菜"], &["酸奶", "优格"],
    &["出租车", "的士", "计程车"], &["地铁", "捷运"], &["摩托车", "摩托"], &["手机号", "手机号码"], &["电话号码", "电话号"], &["电脑", "计算机"], &["邮件", "电邮", "电子邮件"], &["邮箱", "电子邮箱", "邮箱地址"],
    &["餐馆", "饭馆"], &["宾馆", "酒店"], &["电影院", "影院"], &["超市", "超级市场"], &["厕所", "卫生间", "洗手间"], &["厨房", "灶间"], &["房子", "住房"], &["公寓", "住宅公寓"],
    &["早饭", "早餐"], &["午饭", "午餐", "中饭"], &["晚饭", "晚餐"], &["感冒", "伤风"], &["发烧", "发热"], &["头疼", "头痛"], &["肚子疼", "肚子痛", "腹痛"], &["牙疼", "牙痛"], &["失眠", "睡不着觉", "睡不着"], &["手术", "开刀"],
    &["电视", "电视机"], &["冰箱", "电冰箱"], &["沙发", "长沙发"], &["衣服", "衣裳", "衣物"], &["礼物", "礼品"], &["照片", "相片"], &["垃圾", "废弃物"], &["发票", "税票"], &["工资", "薪水", "薪资"], &["奖金", "花红"],
    &["截止日期", "截止时间", "最后期限", "deadline", "ddl"], &["简历", "履历"], &["生日", "出生日期"], &["旁边", "边上", "挨着", "紧挨着"], &["附近", "周边", "不远处"], &["车位", "停车位"], &["停在", "停放在"],
    // qualities
    &["简短", "简洁"], &["大约", "大概"], &["经常", "常常", "时常"], &["通常", "一般来说"], &["有时", "有时候"], &["非常", "十分"], &["漂亮", "美丽"], &["便宜", "廉价"], &["昂贵", "贵"],
    &["吵闹", "嘈杂"], &["安静", "清静"], &["重要", "要紧"], &["唯一的", "唯一"], &["一点", "一点儿"], &["有点", "有点儿"], &["一起", "一块", "一块儿", "一同"], &["必须", "务必", "得要"], &["应该", "应当"], &["已经", "已"],
    &["减肥", "瘦身"], &["毕业于", "毕业自"], &["出生于", "出生在", "生于"], &["素食者", "吃素的人"], &["疼", "痛"],
];

/// Words that deny, by what they deny: that it was so, that it is so, that it may, can or must be so.
#[rustfmt::skip]
const DENIALS: &[&[&str]] = &[
    &["不", "并不"], &["没", "没有"], &["不要", "别", "勿"], &["不能", "不可以", "不可"], &["不用"],
];

/// What stands for a word that denies.
fn denial(word: &str) -> Option<&'static str> {
    DENIALS
        .iter()
        .find(|row| row.contains(&word))
        .map(|row| row[0])
}

static KNOWN: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut known = HashMap::new();
    for row in ROWS {
        for word in *row {
            known.entry(*word).or_insert(row[0]);
        }
    }
    known
});

/// Longest word of the lists, in characters.
const LONGEST: usize = 6;

/// What stands for a word of Chinese; itself if no list has it.
fn class(word: &str) -> &str {
    KNOWN.get(word).copied().unwrap_or(word)
}

/// The text with the usual word for each that has others of its meaning.
pub(crate) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let ends = rest
            .char_indices()
            .skip(1)
            .map(|(at, _)| at)
            .chain([rest.len()]);
        let known = ends
            .take(LONGEST)
            .filter_map(|end| Some((end, *KNOWN.get(&rest[..end])?)))
            .last();
        match known {
            Some((end, class)) => {
                out.push_str(class);
                rest = &rest[end..];
            }
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

/// A piece of a sentence: a Han character, or a whole word, number or sign.
#[derive(Clone)]
struct Piece<'a> {
    text: String,
    token: &'a Token,
}

/// The gist of a sentence that has Han characters; none where its words cannot be told.
///
/// Next to nothing is dropped, and the words keep their order: 了, 过 and 着, 的, 是 and 就 say what the words beside them
/// alone do not.
pub(super) fn read(tokens: &[Token]) -> Option<Gist> {
    let kana = |t: &Token| t.text.chars().any(crate::judge::sentences::is_kana);
    if tokens.len() > 60 || tokens.iter().any(|t| t.is("?") || kana(t)) {
        return None;
    }
    let mut pieces: Vec<Piece<'_>> = tokens
        .iter()
        .map(|token| Piece {
            text: token.text.to_lowercase(),
            token,
        })
        .collect();
    activate(&mut pieces);
    front_user(&mut pieces);
    let mut gist = gather(&pieces);
    gist.forget_contact(CONTACT);
    // Of somebody else, the order of the words still tells of whom.
    gist.contact &= gist.words.len() == 1;
    Some(gist)
}

/// Words around an address or number at which somebody can be reached.
#[rustfmt::skip]
const CONTACT: &[&str] = &[
    "请", "手机号", "电话", "电话号码", "邮件", "邮箱", "地址", "号码", "联系", "联系方式", "打", "拨", "打电话", "可以", "发", "到", "的", IS,
];

/// Who and what has a name that nobody calls: 女儿叫小雨, but 老师叫小雨.
#[rustfmt::skip]
const NAMED: &[&str] = &[
    "妻子", "丈夫", "孩子", "儿子", "女儿", "哥哥", "弟弟", "姐姐", "妹妹", "狗", "猫", "小狗", "小猫",
];

/// Who may act, in the passive voice: 被老板骂了, but 被罚款了.
#[rustfmt::skip]
const ACTORS: &[&str] = &[
    "我", "你", "他", "她", "狗", "小狗", "猫", "小猫", "妈妈", "爸爸", "妻子", "丈夫", "孩子", "儿子", "女儿", "哥哥", "弟弟", "姐姐", "妹妹",
    "爷爷", "奶奶", "外婆", "外公", "朋友", "同事", "同学", "老师", "医生", "老板", "领导", "客户", "房东", "邻居", "室友", "警察", "公司", "学校", "银行",
];

fn is(piece: &Piece<'_>, text: &str) -> bool {
    !piece.token.is_item() && piece.text == text
}

/// 沙发被小狗咬坏了 is 小狗咬坏了沙发. Without a known actor, what follows 被 may be the verb: 用户被强制隔离了.
fn activate(pieces: &mut Vec<Piece<'_>>) {
    let Some(at) = pieces.iter().position(|p| is(p, "被")) else {
        return;
    };
    let (patient, done) = (&pieces[..at], &pieces[at + 1..]);
    let plain = |p: &Piece<'_>| p.token.is_han() && !is(p, "被") && !is(p, "的");
    let acts = (1..=2).any(|size| {
        let actor: Option<String> = done
            .get(..size)
            .map(|actor| actor.iter().map(|p| p.text.as_str()).collect());
        actor.is_some_and(|actor| ACTORS.contains(&class(&actor))) && done.len() >= size + 2
    });
    let over = done.last().is_some_and(|p| is(p, "了"));
    if acts && over && at > 0 && patient.iter().chain(done).all(plain) {
        *pieces = [done, patient].concat();
    }
}

/// 香菜用户不吃 is 用户不吃香菜.
fn front_user(pieces: &mut Vec<Piece<'_>>) {
    let Some(at) = pieces
        .windows(2)
        .position(|w| is(&w[0], "用") && is(&w[1], "户"))
    else {
        return;
    };
    let plain = |p: &Piece<'_>| p.token.is_han() && !"了过着在和跟给对".contains(&p.text);
    let (topic, clause) = (&pieces[..at], &pieces[at + 2..]);
    // 是不吃的 is 不吃 with a raised voice.
    let clause = match clause {
        [stress, denied @ .., end] if is(stress, "是") && is(end, "的") => denied,
        all => all,
    };
    let denies = clause.first().is_some_and(|p| is(p, "不")) && (2..=3).contains(&clause.len());
    if at > 0 && denies && topic.iter().chain(clause).all(|p| plain(p) && !is(p, "的")) {
        *pieces = [&pieces[at..at + 2], clause, topic].concat();
    }
}

/// What stands between a thing and its value at the end of a sentence: 生日是, 生日:, 手机号为.
const IS: &str = "是";

/// What may follow 请 where somebody is told what to do; of others 请 may be to invite or to hire.
const ORDERS: &[&str] = &[
    "用", "使用", "回答", "尽量", "保持", "不要", "直接", "提醒", "记得",
];

fn gather(pieces: &[Piece<'_>]) -> Gist {
    let mut gist = Gist {
        ordered: true,
        ..Gist::default()
    };
    let allergic = matches!(pieces, [.., a, b] if is(a, "过") && is(b, "敏"));
    // Of whom it is: 用户的用户 are not the user.
    let mut spoken_of = false;
    let mut denied = None;
    let mut at = 0;
    while at < pieces.len() {
        let piece = &pieces[at];
        let (word, size) = word_at(&pieces[at..]);
        let value_follows = || {
            let rest = &pieces[at + size..];
            !rest.is_empty() && rest.iter().all(|p| p.token.is_item())
        };
        let word = match word.as_str() {
            ":" | "为" if value_follows() => IS.to_owned(),
            _ => word,
        };
        let rest = &pieces[at + size..];
        let first = gist.words.iter().all(|w| w.item) && denied.is_none();
        let before = (at > 0).then(|| &pieces[at - 1]);
        at += size;
        if let Some(denial) = denial(&word) {
            gist.words.extend(denied.replace(denial).map(Word::sign));
            continue;
        }
        let denies = denied.take();
        if piece.token.is_item() {
            gist.words.extend(denies.map(Word::sign));
            let unit = piece.token.unit().unwrap_or_default();
            gist.words.push(Word {
                item: true,
                ..Word::sign(&format!("#{}|{unit}", piece.token.text))
            });
            continue;
        }
        let silent = match word.as_str() {
            // The user is who is spoken of anyway; in 喜欢用户的 they are not.
            "用户" => first && !spoken_of || is_contacted(&gist, rest),
            // What is the user's, and what an order tells.
            "的" => {
                before.is_some_and(|p| is(p, "户")) && gist.words.is_empty()
                    || class(&word_at_start(rest)) == "叫做"
            }
            "-" => at == size,
            "请" => first && ORDERS.contains(&class(&word_at_start(rest))),
            "对" => allergic,
            "在" => rest.first().is_some_and(|p| form::is_time(p.token)),
            // 周六,用户教球
            "," => first && !gist.words.is_empty(),
            _ => false,
        };
        if silent && denies.is_none() {
            spoken_of |= word == "用户";
            continue;
        }
        if matches!(word.as_str(), "了" | "过" | "着")
            && denies.is_none()
            && let Some(verb) = gist.words.last_mut().filter(|w| !w.item)
        {
            verb.key.push_str(&word);
            continue;
        }
        let class = match word.as_str() {
            "叫" if is_named(&gist) && is_name(rest) => "叫做",
            IS if is_named(&gist) && is_name(rest) && is_full_name(rest) => "叫做",
            _ if size == 1 && !piece.token.is_han() && word != IS => &piece.token.text,
            word => class(word),
        };
        gist.words.push(Word::sign(&match denies {
            Some(denial) => format!("{denial}→{class}"),
            None => class.to_owned(),
        }));
    }
    gist.words.extend(denied.map(Word::sign));
    gist
}

/// 联系用户请发邮件到…
fn is_contacted(gist: &Gist, rest: &[Piece<'_>]) -> bool {
    matches!(gist.words.as_slice(), [only] if only.key == "联系")
        && rest.first().is_some_and(|p| is(p, "请"))
}

fn is_named(gist: &Gist) -> bool {
    gist.words.len() <= 2
        && gist
            .words
            .last()
            .is_some_and(|w| NAMED.contains(&w.key.as_str()))
}

/// Whether what follows 叫 may be a name: no 叫他吃饭, no 叫很吵.
fn is_name(rest: &[Piece<'_>]) -> bool {
    const NONE: &str = "我你他她它很得了过着来去人";
    let names = |p: &Piece<'_>| {
        !p.token.is_item() && !NONE.contains(&p.text) && p.text.chars().all(char::is_alphanumeric)
    };
    (1..=3).contains(&rest.len()) && rest.iter().all(names)
}

/// The commonest surnames.
const SURNAMES: &str = "王李张刘陈杨黄赵周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴钟汪姜范姚谭廖邹陆郝崔邱秦顾侯邵孟";

/// Whether a name is one with a surname, so that 妻子是林悦 says no more than 妻子叫林悦.
fn is_full_name(name: &[Piece<'_>]) -> bool {
    name.len() >= 2 && SURNAMES.contains(&name[0].text)
}

fn word_at_start(pieces: &[Piece<'_>]) -> String {
    if pieces.is_empty() {
        return String::new();
    }
    word_at(pieces).0
}

/// The longest word that the lists know at the start of `pieces`, else the first piece; and its size.
fn word_at(pieces: &[Piece<'_>]) -> (String, usize) {
    let listed = |word: &str| {
        KNOWN.contains_key(word)
            || denial(word).is_some()
            || word == "用户"
            || [NAMED, ACTORS, CONTACT]
                .iter()
                .any(|list| list.contains(&word))
    };
    let mut word = String::new();
    let mut found = (pieces[0].text.clone(), 1);
    for (size, piece) in pieces.iter().take(LONGEST).enumerate() {
        if piece.token.is_item() || size > 0 && !piece.token.is_han() {
            break;
        }
        word.push_str(&piece.text);
        if listed(&word) {
            found = (word.clone(), size + 1);
        }
    }
    found
}
