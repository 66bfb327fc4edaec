//! Words that say nothing of their own: openers of talk, politeness, laughter, and the frames with
//! which a fact is put on record (`just to note it down`, 再说一遍).
//!
//! The lists are closed. What hedges (`maybe`, `I think`, 吧 at the end), limits (`only`, 才),
//! recurs (`usually`) or corrects (`no,`) is none of them.

use std::sync::LazyLock;

use crate::judge::pattern::{Captures, Pattern, pattern};

/// What frames a fact at the start of a text: `it should be kept in mind that`.
const FRAME: &str = r"
    (?: (?:please|kindly|just|again|once\x20(?:again|more)|also|and|so|as\x20a|a|one\x20more|quick|small|friendly)[,\x20]+ )*
    (?:
        (?:
            (?: (?:to|let\x20me|let\x20us|let's|i(?:'d|\x20would)\x20like\x20to|i\x20want(?:ed)?\x20to|i\x20(?:should|must)
                | it(?:\x20i|')s\x20(?:important\x20|good\x20|useful\x20)to )\x20 )?
            (?: note | mention | remember | record | repeat | say | add | remind\x20you | point\x20out | stress | keep\x20in\x20mind | bear\x20in\x20mind | write\x20down | note\x20down )
          | (?:it\x20|this\x20)?(?:should|must|is\x20to|has\x20to|needs\x20to)\x20be\x20
            (?: noted | mentioned | remembered | recorded | repeated | added | pointed\x20out | stressed | kept\x20in\x20mind | borne\x20in\x20mind | written\x20down | noted\x20down | put\x20on\x20record )
          | (?:it(?:\x20i|')s\x20)?worth\x20 (?: noting | mentioning | remembering | repeating | adding | keeping\x20in\x20mind )
        )
        (?:\x20(?:it|this|that|here|down|again|once\x20(?:more|again)))* (?:[,:;-]\x20*|\x20that\x20)
      | (?: note | reminder | side\x20note | quick\x20note | fyi | btw | by\x20the\x20way | for\x20the\x20record | for\x20your\x20information | for\x20reference | just\x20so\x20you\x20know | as\x20(?:i\x20|already\x20|previously\x20)?(?:said|mentioned|noted|told\x20you)(?:\x20(?:before|earlier|already|above))? | like\x20i\x20said
          | i\x20mean | you\x20know | you\x20see | let's\x20see | let\x20me\x20see | the\x20thing\x20is | what\x20i\x20mean\x20is ) (?:\x20that\x20|\x20*[,:;-]\x20*)
    )";

/// Words that open talk.
const OPENERS: &str = r"
    (?: well | so\x20yeah | so | yeah | yep | yup | ok | okay | oh | ah | aha | um+ | uh+ | erm | hm+ | hey | hi | hello | right | anyway | anyways | basically | actually | honestly | frankly | frankly\x20speaking | to\x20be\x20honest | tbh | literally | and | also | look | listen | see | now\x20then | alright | all\x20right
      | naja | na\x20ja | also | übrigens | ach | eigentlich | bueno | pues | por\x20cierto | o\x20sea | bref | alors | au\x20fait | enfin | allora | beh | comunque
      | えーと | えっと | ええと | あのー? | まあ | ちなみに | そういえば )";

static LATIN_START: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?ix)^(?: {OPENERS}(?:\x20*[,:;]+\x20*|\x20+-+\x20+) | {OPENERS}、 | {FRAME} | please\x20,?\x20* | bitte\x20 | por\x20favor,?\x20 | uh\x20+ | um\x20+ | well\x20(?:basically|actually)\x20 | (?:ok|okay|so|well|yeah|oh|um|uh)\x20(?:so|well|yeah|um|uh|basically|actually)\x20(?:basically\x20|actually\x20)? )"
    ))
});

static LATIN_END: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?:
        ,?\x20+(?: please | pls | plz | thanks | thank\x20you | thx | ty | lol | lmao | haha(?:ha)* | hehe(?:he)* | xd | btw | fyi | tbh | bitte | danke | gracias | por\x20favor )
        | ,\x20*(?: you\x20know | you\x20see | i\x20mean | of\x20course | by\x20the\x20way | for\x20the\x20record | actually | basically | honestly | though\x20i\x20said\x20that | ok | okay | right | anyway | really | for\x20your\x20information | just\x20so\x20you\x20know | as\x20(?:i\x20)?(?:said|mentioned)(?:\x20before)? )
        | \x20*(?: :-?\) | ;-?\) | :-?D )
        )(?P<stop>[.!]*)$",
    )
});

static LATIN_MIDDLE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix),\x20*(?: you\x20know | you\x20see | i\x20mean | um+ | uh+ | erm | well | by\x20the\x20way | of\x20course | actually | basically | please ),\x20*",
    )
});

static HAN_START: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)^(?:
        (?: 那个 | 这个 | 嗯+ | 呃+ | 额 | 哦+ | 噢 | 啊+ | 唉 | 哎呀? | 诶 | 欸 | 对了 | 话说 | 说起来 | 其实 | 就是 | 就是说 | 那么? | 然后 | 总之 | 反正 | 怎么说呢 | 说实话 | 老实说 | 讲真
          | 顺便(?:说|提|讲)?(?:一下|一句|一嘴)? | 另外 | 还有 | 再(?:说|讲|强调|提醒|重复)(?:一?[遍次下]) | 提醒(?:你|一下|你一下)? | 跟?你?说一?[声下] | 备注(?:一下)? | 注意(?:一下)? | 记一下 | 记住 | 请记住 | 请注意 | 补充(?:一[点下句])? | 我跟你说 | 告诉你 | 好的? | 行 | 哈喽 | 你好
        )(?:吧|啊|哈|呢|呀|嘛|哦|了)*\x20*[,:、]\x20*
        | (?:嗯+|呃+|哦+|噢+)[,:、\x20]*
        )",
    )
});

static HAN_END: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)(?: [,\x20]+(?:哈哈+|嘿嘿+|呵呵+|嘻嘻+|233+|谢谢|多谢|拜托) | (?P<word>[^\x20,!?。.哈])[哈啊呀哦噢喔哟啦] )(?P<stop>[。.!~]*)$",
    )
});

/// Written out, it holds a word of time.
static ASAP: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\bas soon as possible\b"));

/// A text in comparison form (of its characters) without its fillers.
pub(crate) fn stripped(text: &str) -> String {
    let mut text = ASAP
        .replace_all(text.trim(), |_| "ASAP".to_owned())
        .into_owned();
    loop {
        let before = text.len();
        if let Some(found) = [&LATIN_START, &HAN_START]
            .iter()
            .find_map(|p| p.find(&text))
        {
            text.replace_range(..found.end(), "");
        }
        let end = [&LATIN_END, &HAN_END]
            .iter()
            .find_map(|p| p.captures(&text));
        if let Some(captures) = end.filter(|found| !is_mentioned(&text, found)) {
            let get = |name: &str| &captures[name];
            // 啦 is 了 with a sigh; 吧 is a doubt, 嘛 may ask, and both stay.
            let end = captures.whole.as_str();
            let ended = if end.contains('啦') { "了" } else { "" };
            let kept = format!("{}{ended}{}", get("word"), get("stop"));
            let at = captures.whole.start();
            text.replace_range(at.., &kept);
        }
        // 其实验室 is a laboratory.
        let told = text.strip_prefix("其实").filter(|rest| {
            ["用户", "他", "她", "我", "不", "没", "很"]
                .iter()
                .any(|start| rest.starts_with(start))
        });
        if let Some(told) = told {
            text = told.to_owned();
        }
        if let Some(found) = LATIN_MIDDLE.find(&text) {
            text.replace_range(found.range(), " ");
        }
        text = text.trim().to_owned();
        if text.len() == before {
            return text;
        }
    }
}

/// Whether the words at the end are spoken of: `says please and thanks`.
fn is_mentioned(text: &str, found: &Captures<'_>) -> bool {
    let before = &text[..found.whole.start()];
    let word = before
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    [
        "and", "or", "say", "says", "said", "saying", "the", "a", "of", "with", "without", "to",
        "no",
    ]
    .contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fillers_go() {
        for (text, expected) in [
            (
                "Well, basically, the user prefers tea, you know",
                "the user prefers tea",
            ),
            (
                "So yeah, just to note it down again, wants invoices as PDF please",
                "wants invoices as PDF",
            ),
            (
                "It should be kept in mind that the user needs a lift",
                "the user needs a lift",
            ),
            ("Please remember that she is vegan.", "she is vegan."),
            ("FYI: the office is closed", "the office is closed"),
            ("By the way, has a dog", "has a dog"),
            ("Please keep replies brief", "keep replies brief"),
            ("Likes tea lol", "Likes tea"),
            ("Okay, um, likes tea", "likes tea"),
            ("那个,其实吧,用户不吃香菜哈", "用户不吃香菜"),
            ("对了,再说一遍啊,发票要开公司抬头", "发票要开公司抬头"),
            ("嗯,顺便说一下,他住在上海啊。", "他住在上海。"),
            ("他搬家啦", "他搬家了"),
            ("喜欢 hiking 哈哈哈", "喜欢 hiking"),
            ("用户住在成都,哈哈", "用户住在成都"),
            ("えーと、お茶が好き", "お茶が好き"),
        ] {
            assert_eq!(stripped(text), expected);
        }
    }

    #[test]
    fn what_says_something_stays() {
        for text in [
            "Maybe likes tea",
            "I think she is vegan",
            "Only likes tea",
            "No, likes tea",
            "Usually drinks tea",
            "Wells is nice",
            "Right knee hurts",
            "So far likes tea",
            "Well water is used",
            "Notes that the rent is late",
            "Also known as Bob",
            "Likes to say please and thanks",
            "他住在上海吧",
            "那个人喜欢茶",
            "其实验室在上海",
            "就是不吃香菜",
            "对了答案",
            "请注意饮食",
            "爱喝娃哈哈",
            "女儿会说谢谢",
            "他来嘛",
            "Says that the rent is late",
            "Needs to remember that Ana is vegan",
            "Wants to be noted",
            "Hi-fi fan",
            "Actually",
        ] {
            assert_eq!(stripped(text), text, "{text}");
        }
    }
}
