//! A Chinese sentence as the words that carry it.
//!
//! Chinese has no blanks: characters are words unless the lists know a longer one.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Gist, Link, Word};
use crate::judge::form::Token;

/// Words of one meaning; the first one stands for all.
#[rustfmt::skip]
const ROWS: &[&[&str]] = &[
    // tastes
    &["喜欢", "喜爱", "钟爱", "热爱", "爱好"], &["喜欢吃", "爱吃"], &["喜欢喝", "爱喝"], &["喜欢看", "爱看"], &["喜欢听", "爱听"], &["喜欢玩", "爱玩"], &["喜欢去", "爱去"],
    &["讨厌", "反感", "厌恶"], &["害怕", "惧怕", "恐惧", "怕"], &["希望", "想要", "盼望"], &["担心", "担忧"], &["高兴", "开心", "快乐"], &["生气", "恼火"],
    // people
    &["妈妈", "母亲", "老妈", "妈"], &["爸爸", "父亲", "老爸", "爸"], &["妻子", "太太", "老婆", "媳妇"], &["丈夫", "老公"], &["孩子", "小孩", "小孩子", "小朋友"], &["医生", "大夫"], &["老师", "教师"],
    &["外婆", "姥姥"], &["外公", "姥爷"], &["老板", "上司"], &["朋友", "好友"], &["男朋友", "男友"], &["女朋友", "女友"], &["警察", "民警"], &["律师", "辩护律师"], &["程序员", "码农"], &["理发师", "发型师"], &["独生子", "独子"],
    // to live, to work, to do
    &["住在", "居住在", "家在", "住"], &["上班", "工作", "任职", "就职"], &["购买", "买"], &["租住", "租房"], &["起床", "起身"], &["睡觉", "就寝", "入睡", "上床睡觉"], &["通勤", "上班路上", "上下班路上"],
    &["锻炼", "健身"], &["散步", "遛弯"], &["旅游", "旅行"], &["开车", "驾车"], &["减肥", "减重"], &["学习", "学"], &["做饭", "烧饭", "煮饭", "下厨"], &["打扫", "清扫"], &["收拾", "整理"], &["修理", "维修", "修"], &["修好", "修复"],
    &["清空", "清掉", "清除", "清理掉"], &["删除", "删掉"], &["取消", "撤销"], &["推迟", "延期", "延后"], &["提醒", "提示"], &["回答", "回复", "答复"], &["联系", "联络"], &["决定", "定了", "确定"], &["使用", "采用", "用"], &["拒绝", "否决", "驳回"], &["同意", "批准"],
    &["打电话", "致电"], &["叫做", "名叫", "名字叫", "名字是", "名为", "叫"], &["养了", "养着", "养有"], &["拥有", "有"], &["每天", "天天", "每日"], &["参加", "参与"], &["帮助", "帮忙"], &["照顾", "照料"],
    // things
    &["自行车", "单车", "脚踏车"], &["土豆", "马铃薯", "洋芋"], &["西红柿", "番茄"], &["红薯", "地瓜", "番薯", "甘薯"], &["玉米", "苞米"], &["菠萝", "凤梨"], &["花生", "落花生"], &["猕猴桃", "奇异果"], &["圆白菜", "卷心菜", "包菜"], &["酸奶", "优格"],
    &["出租车", "的士", "计程车"], &["地铁", "捷运"], &["摩托车", "摩托"], &["手机号", "手机号码", "电话号码", "电话号"], &["电脑", "计算机"], &["邮件", "电邮", "电子邮件"], &["邮箱", "电子邮箱", "邮箱地址"], &["软件", "app"],
    &["餐馆", "餐厅", "饭馆"], &["宾馆", "酒店", "旅馆"], &["电影院", "影院"], &["超市", "超级市场"], &["厕所", "卫生间", "洗手间"], &["厨房", "灶间"], &["房子", "住房"], &["公寓", "住宅公寓"],
    &["早饭", "早餐"], &["午饭", "午餐", "中饭"], &["晚饭", "晚餐"], &["药", "药物"], &["感冒", "伤风"], &["发烧", "发热"], &["头疼", "头痛"], &["肚子疼", "肚子痛", "腹痛"], &["牙疼", "牙痛"], &["失眠", "睡不着觉", "睡不着"], &["手术", "开刀"],
    &["电视", "电视机"], &["冰箱", "电冰箱"], &["沙发", "长沙发"], &["衣服", "衣裳", "衣物"], &["眼镜", "眼睛片"], &["礼物", "礼品"], &["照片", "相片"], &["垃圾", "废弃物"], &["发票", "税票"], &["工资", "薪水", "薪资"], &["奖金", "花红"], &["假期", "休假"],
    &["截止日期", "截止时间", "最后期限", "deadline", "ddl"], &["简历", "履历"], &["生日", "出生日期"], &["旁边", "边上", "挨着", "紧挨着"], &["附近", "周边", "不远处"], &["车位", "停车位"], &["停在", "停放在"],
    // qualities
    &["简短", "简洁", "短"], &["大约", "大概", "差不多", "约"], &["经常", "常常", "常", "时常"], &["通常", "一般", "平时", "一般来说"], &["有时", "有时候", "偶尔"], &["非常", "特别", "十分", "很"], &["漂亮", "好看", "美丽"], &["便宜", "廉价"], &["昂贵", "贵"],
    &["吵", "吵闹", "嘈杂"], &["安静", "清静"], &["困难", "难"], &["简单", "容易"], &["重要", "要紧"], &["唯一的", "唯一"], &["一点", "一些", "点儿", "有点儿", "有点"], &["一起", "一块", "一块儿", "一同"], &["必须", "务必", "得要"], &["应该", "应当"], &["可以", "能够"], &["已经", "已"],
    &["减肥", "瘦身"], &["毕业于", "毕业自"], &["出生于", "出生在", "生于"], &["左右手", "双手"], &["素食者", "吃素的人"], &["疼", "痛"],
];

/// Words that say nothing where everything else is the same.
#[rustfmt::skip]
const LIGHT: &[&str] = &["的", "是", "就", "着", "把", "来着", "呢", "每逢", "一下"];

/// Words that deny, by what they deny: that it was so, that it is so, that it may, can or must be so.
#[rustfmt::skip]
const DENIALS: &[&[&str]] = &[
    &["不", "并不"], &["没", "没有", "未", "无"], &["不要", "别", "勿"], &["不能", "不可以", "不可"], &["不用"],
];

/// What stands for a word that denies.
fn denial(word: &str) -> Option<&'static str> {
    DENIALS
        .iter()
        .find(|row| row.contains(&word))
        .map(|row| row[0])
}

/// Characters in whose presence no order is free.
const ORDERED: &str = "比给教借欠从到向对先后再但却让叫使跟和与或还把";

/// Who acts besides the user.
const AGENTS: &[&str] = &["我", "你", "他", "她", "它", "我们", "他们", "她们"];

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
    let ordered = pieces
        .iter()
        .any(|p| !p.token.is_item() && p.text.chars().all(|c| ORDERED.contains(c)));
    let mut gist = gather(&pieces, ordered);
    gist.forget_contact(CONTACT);
    Some(gist)
}

/// Words around an address or number at which somebody can be reached.
const CONTACT: &[&str] = &[
    "请",
    "手机号",
    "电话",
    "邮件",
    "邮箱",
    "地址",
    "号码",
    "联系",
    "联系方式",
    "打",
    "拨",
    "打电话",
    "可以",
    "发",
    "到",
    "加",
    "微信",
    "号",
    "码",
    "方",
    "式",
];

/// Who has a name: after them, `is called` says no more than `is`.
const NAMED: &[&str] = &[
    "妈妈",
    "爸爸",
    "妻子",
    "丈夫",
    "孩子",
    "儿子",
    "女儿",
    "哥哥",
    "弟弟",
    "姐姐",
    "妹妹",
    "朋友",
    "男朋友",
    "女朋友",
    "老师",
    "同事",
    "老板",
    "狗",
    "猫",
    "医生",
];

fn is(piece: &Piece<'_>, text: &str) -> bool {
    !piece.token.is_item() && piece.text == text
}

/// 沙发被小狗咬坏了 is 小狗咬坏了沙发.
fn activate(pieces: &mut Vec<Piece<'_>>) {
    let Some(at) = pieces.iter().position(|p| is(p, "被")) else {
        return;
    };
    let after = pieces.split_off(at);
    let clause = after.iter().position(|p| is(p, ",")).unwrap_or(after.len());
    let named = after[1..clause]
        .iter()
        .filter(|p| p.token.is_han() && !is(p, "了"))
        .count()
        > 2;
    let patient = std::mem::take(pieces);
    // Of 用户被罚款了 it cannot be told whether somebody is named. Without an agent, what is after it is the verb.
    let user = patient.len() == 2 && is(&patient[0], "用") && is(&patient[1], "户");
    *pieces = if named && !user {
        [&after[1..clause], &patient, &after[clause..]].concat()
    } else {
        [&patient[..], &after].concat()
    };
}

/// 香菜用户不吃 is 用户不吃香菜.
fn front_user(pieces: &mut Vec<Piece<'_>>) {
    let Some(at) = pieces
        .windows(2)
        .position(|w| is(&w[0], "用") && is(&w[1], "户"))
    else {
        return;
    };
    let topic = &pieces[..at];
    let simple = at > 0
        && topic
            .iter()
            .all(|p| p.token.is_han() && !is(p, ",") && !ORDERED.contains(&p.text))
        && !pieces.iter().any(|p| is(p, ","))
        && !pieces.get(at + 2).is_some_and(|p| is(p, "的"));
    if simple {
        let clause = pieces.split_off(at);
        *pieces = [clause, std::mem::take(pieces)].concat();
    }
}

fn gather(pieces: &[Piece<'_>], ordered: bool) -> Gist {
    let mut gist = Gist {
        ordered,
        ..Gist::default()
    };
    let allergic = pieces
        .windows(2)
        .any(|w| is(&w[0], "过") && is(&w[1], "敏"));
    let (mut link, mut denied, mut free, mut joint) = (Link::None, None, true, false);
    // 是卖车的 is what one does for a living.
    let closes = pieces.last().is_some_and(|p| is(p, "的"));
    let mut at = 0;
    while at < pieces.len() {
        let piece = &pieces[at];
        if piece.token.is_item() {
            gist.words.push(Word {
                key: format!(
                    "#{}|{}",
                    piece.token.text,
                    piece.token.unit().unwrap_or_default()
                ),
                item: true,
                ..Word::sign("")
            });
            (link, free) = (Link::None, true);
            at += 1;
            continue;
        }
        if !piece.text.chars().any(char::is_alphanumeric) {
            if !piece.text.is_ascii() && !"、,。:（）".contains(&piece.text) {
                gist.signs.push(piece.text.clone());
            }
            // 买了 苹果 手机: a blank may part two things.
            joint = piece.text == ","
                && at > 0
                && !pieces[at - 1].token.is_item()
                && pieces.get(at + 1).is_some_and(|p| !p.token.is_item());
            free = true;
            at += 1;
            continue;
        }
        let (word, size) = word_at(&pieces[at..]);
        // Where a clause begins, the user is who is spoken of anyway; in `喜欢用户的` they are not.
        let begins = at == 0 || free && gist.words.is_empty() || is(&pieces[at - 1], ",");
        if word == "用户" && begins || word == "请" && at == 0 {
            free = true;
        } else if let Some(denial) = denial(&word) {
            denied = Some(denial);
        } else if class(&word) == "叫做"
            && (size > 1 || is_name(&pieces[at + 1..]))
            && gist.words.len() == 1
            && NAMED.contains(&gist.words[0].key.as_str())
        {
            free = true;
        } else if matches!(word.as_str(), "了" | "过") && !gist.words.is_empty() {
            // 买了车 is no 买车: tense counts.
            gist.past = true;
        } else if LIGHT.contains(&word.as_str())
            && !(word == "是" && (at + size == pieces.len() || closes))
            || allergic && word == "对"
        {
            // Says nothing.
        } else if word == "在" {
            link = Link::Loose("at");
            free = true;
        } else {
            let agent = AGENTS.contains(&word.as_str());
            gist.agents += usize::from(agent);
            let class = if size == 1 && !piece.token.is_han() {
                &piece.token.text
            } else {
                class(&word)
            };
            gist.words.push(Word {
                joint: std::mem::take(&mut joint),
                key: match denied.take() {
                    Some(denial) => format!("{denial}→{class}"),
                    None => class.to_owned(),
                },
                link: std::mem::replace(&mut link, Link::None),
                free: std::mem::take(&mut free),
                agent,
                ..Word::sign("")
            });
        }
        at += size;
    }
    if let Some(denial) = denied {
        gist.words.push(Word::sign(denial));
    }
    gist.signs.sort_unstable();
    gist
}

/// Whether what follows 叫 may be a name: no 叫他吃饭, no 叫很吵.
fn is_name(rest: &[Piece<'_>]) -> bool {
    let other = |p: &Piece<'_>| AGENTS.contains(&p.text.as_str()) || is(p, "很") || is(p, "得");
    (1..=3).contains(&rest.len()) && !rest.iter().any(other)
}

/// The longest word that the lists know at the start of `pieces`, else the first piece; and its size.
fn word_at(pieces: &[Piece<'_>]) -> (String, usize) {
    let listed = |word: &str| {
        KNOWN.contains_key(word)
            || LIGHT.contains(&word)
            || denial(word).is_some()
            || word == "用户"
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
