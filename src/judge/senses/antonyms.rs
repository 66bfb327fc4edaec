//! The antonyms guard: words that cannot both be said of one thing.

use super::Classes;

/// Opposites stand in one row, so that each text has a class that the other lacks. A word stands
/// here only if it is hardly ever said beside its opposite of something else.
#[rustfmt::skip]
pub(super) const CLASSES: Classes = &[
    ("noisy", &["noisy", "loud", "吵", "吵闹"]), ("quiet", &["quiet", "silent", "安静"]), ("short", &["short", "brief", "concise", "简短", "短"]), ("long", &["long", "lengthy", "detailed", "详细", "冗长"]),
    ("locked", &["locked", "上锁"]), ("unlocked", &["unlocked"]), ("cheap", &["cheap", "inexpensive", "便宜"]), ("expensive", &["expensive", "costly", "贵", "昂贵"]),
    ("likes", &["likes", "like", "loves", "love", "enjoys", "enjoy", "adores", "喜欢", "喜爱", "爱吃", "爱喝"]), ("dislikes", &["dislikes", "dislike", "hates", "hate", "loathes", "detests", "讨厌", "不喜欢", "恨"]),
    ("bought", &["bought", "buys", "buy", "purchased", "买"]), ("sold", &["sold", "sells", "sell", "卖"]), ("lent", &["lent", "lends", "借给", "借出"]), ("borrowed", &["borrowed", "borrows", "借来"]),
    ("left", &["left-hand", "左"]), ("right", &["right-hand", "右"]), ("east", &["east", "eastern", "东口", "东边", "东侧"]), ("west", &["west", "western", "西口", "西边", "西侧"]), ("north", &["north", "northern", "北口", "北边"]), ("south", &["south", "southern", "南口", "南边"]),
    ("open", &["open", "opened", "opens"]), ("closed", &["closed", "shut", "closes"]), ("accepted", &["accepted", "approved", "accepts", "接受", "同意", "批准"]), ("rejected", &["rejected", "declined", "refused", "拒绝", "驳回"]),
    ("won", &["won", "wins", "赢"]), ("lost", &["lost", "loses", "输"]), ("hot", &["hot", "热"]), ("cold", &["cold", "冷"]), ("early", &["early", "earlier"]), ("late", &["late", "later"]),
    ("increased", &["increased", "rose", "raised", "grew", "上涨", "增加"]), ("decreased", &["decreased", "fell", "reduced", "lowered", "下跌", "减少"]), ("allowed", &["allowed", "permitted", "允许"]), ("forbidden", &["forbidden", "prohibited", "banned", "禁止"]),
    ("married", &["married", "结婚"]), ("divorced", &["divorced", "离婚"]), ("formal", &["formal", "正式"]), ("casual", &["casual", "informal", "随意"]), ("public", &["public", "公开"]), ("secret", &["secret", "保密"]),
    ("dark", &["dark", "深色"]), ("light", &["light", "浅色"]), ("window", &["window", "靠窗"]), ("aisle", &["aisle", "靠过道", "靠走道"]), ("vegetarian", &["vegetarian", "vegan", "吃素"]), ("passed", &["passed", "succeeded", "通过", "及格"]), ("failed", &["failed", "fails", "没通过", "挂科"]),
    ("on", &["switched on", "turned on", "enabled", "enable", "开启"]), ("off", &["switched off", "turned off", "disabled", "disable", "关闭"]), ("with", &["with"]), ("without", &["without"]), ("received", &["收的", "收到"]), ("paid", &["付的", "付了"]),
    ("yes", &["✅", "👍", "✔"]), ("no", &["❌", "👎", "✖", "🚫"]), ("better", &["better"]), ("worse", &["worse"]), ("faster", &["faster"]), ("slower", &["slower"]), ("older", &["older", "elder"]), ("younger", &["younger"]), ("more", &["more"]), ("less", &["less", "fewer"]),
    ("before", &["before"]), ("after", &["after"]), ("first", &["first name", "given name"]), ("last", &["last name", "surname", "family name"]), ("male", &["male"]), ("female", &["female"]), ("full", &["full", "满"]), ("empty", &["empty", "空"]), ("strong", &["strong"]), ("weak", &["weak"]), ("safe", &["safe"]), ("dangerous", &["dangerous", "unsafe"]), ("fixed", &["fixed", "修好"]), ("broke", &["broke", "broken", "弄坏"]),
];
