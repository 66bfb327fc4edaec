//! Two ways to write one word: contractions, abbreviations, spellings.
//!
//! All lists are closed. Texts are compared with the short form in place of the long one, so a pair
//! is only affected where everything else in it is equal.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Contractions that are written out, as `short=long`. `'s` stands for `is` ([`super::token`]).
#[rustfmt::skip]
const CONTRACTIONS: &[(&str, &str)] = &[
    ("cannot", "can not"), ("can't", "can not"), ("cant", "can not"), ("won't", "will not"),
    ("wont", "will not"), ("shan't", "shall not"), ("dont", "do not"), ("doesnt", "does not"),
    ("didnt", "did not"), ("isnt", "'s not"), ("arent", "are not"), ("wasnt", "was not"),
    ("werent", "were not"), ("hasnt", "has not"), ("havent", "have not"), ("wouldnt", "would not"),
    ("couldnt", "could not"), ("shouldnt", "should not"), ("im", "i am"), ("ive", "i have"),
    ("theyre", "they are"), ("theyve", "they have"), ("youre", "you are"), ("gonna", "going to"),
    ("wanna", "want to"), ("gotta", "got to"), ("kinda", "kind of"), ("sorta", "sort of"),
    ("lemme", "let me"), ("gimme", "give me"), ("dunno", "do not know"), ("'til", "until"),
    ("till", "until"), ("'cause", "because"), ("cuz", "because"), ("let's", "let us"),
    ("y'all", "you all"), ("ma'am", "madam"), ("o'er", "over"), ("'em", "them"), ("w/o", "without"), ("w/", "with"), ("b/c", "because"), ("bc", "because"),
    ("tho", "though"), ("thru", "through"),
    // German, Spanish, French
    ("gibt's", "gibt es"), ("geht's", "geht es"), ("ist's", "ist es"), ("hat's", "hat es"),
    ("fürs", "für das"), ("aufs", "auf das"),
    ("beim", "bei dem"), ("vom", "von dem"), ("zum", "zu dem"), ("zur", "zu der"), 
];

/// Endings of contractions: `they've`.
const ENDINGS: &[(&str, &str)] = &[
    ("n't", "not"),
    ("'ve", "have"),
    ("'re", "are"),
    ("'ll", "will"),
    ("'m", "am"),
    ("'s", "'s"),
];

/// Short forms and what they stand for, in lower case. A short form in capitals (`HR`) is one only
/// if it is written so.
#[rustfmt::skip]
const SHORT: &[(&str, &[&str])] = &[
    // of the office
    ("HR", &["human resources"]), ("PR", &["public relations"]), ("QA", &["quality assurance"]),
    ("R&D", &["research and development"]), ("CEO", &["chief executive officer"]),
    ("CTO", &["chief technology officer", "chief technical officer"]),
    ("CFO", &["chief financial officer"]), ("COO", &["chief operating officer"]),
    ("CIO", &["chief information officer"]), ("VP", &["vice president"]),
    ("PM", &["project manager"]), ("PTO", &["paid time off"]),
    ("WFH", &["works from home", "work from home", "working from home"]),
    ("OOO", &["out of office", "out of the office"]), ("KPI", &["key performance indicator"]),
    ("KPIs", &["key performance indicators"]), ("ROI", &["return on investment"]),
    ("NDA", &["non-disclosure agreement", "nondisclosure agreement"]),
    ("CV", &["curriculum vitae"]), ("B2B", &["business to business"]),
    ("EOD", &["end of day", "end of the day"]), ("EOW", &["end of week", "end of the week"]),
    ("ETA", &["estimated time of arrival"]), ("ASAP", &["as soon as possible"]),
    ("FYI", &["for your information"]), ("TBD", &["to be determined"]),
    ("TBA", &["to be announced"]), ("FAQ", &["frequently asked questions"]),
    ("AGM", &["annual general meeting"]), ("IPO", &["initial public offering"]),
    ("SLA", &["service level agreement"]),
    ("NGO", &["non-governmental organisation", "non-governmental organization"]),
    ("docs", &["documentation"]), ("doc", &["document"]), ("repo", &["repository"]),
    ("repos", &["repositories"]), ("info", &["information"]), ("app", &["application"]),
    ("apps", &["applications"]), ("config", &["configuration"]), ("configs", &["configurations"]),
    ("specs", &["specifications"]), ("spec", &["specification"]), ("admin", &["administrator"]),
    ("admins", &["administrators"]), ("dev", &["developer"]), ("devs", &["developers"]),
    ("prod", &["production"]), ("env", &["environment"]), ("auth", &["authentication"]),
    ("mgr", &["manager"]), ("mgmt", &["management"]), ("dept", &["department"]),
    ("rep", &["representative"]), ("reps", &["representatives"]), ("asst", &["assistant"]),
    ("exec", &["executive"]), ("govt", &["government"]),
    ("org", &["organisation", "organization"]), ("corp", &["corporation"]), ("co", &["company"]),
    ("inc", &["incorporated"]), ("ltd", &["limited"]), ("intl", &["international"]),
    ("natl", &["national"]), ("acct", &["account"]), ("appt", &["appointment"]),
    ("appts", &["appointments"]), ("mtg", &["meeting"]), ("mtgs", &["meetings"]),
    ("msg", &["message"]), ("msgs", &["messages"]), ("pic", &["picture"]),
    ("pics", &["pictures"]), ("vid", &["video"]), ("vids", &["videos"]),
    ("demo", &["demonstration"]), ("memo", &["memorandum"]), ("promo", &["promotion"]),
    ("intro", &["introduction"]), ("prep", &["preparation"]), ("temp", &["temperature"]),
    ("temps", &["temperatures"]), ("approx", &["approximately"]), ("max", &["maximum"]),
    ("min", &["minimum"]), ("avg", &["average"]), ("qty", &["quantity"]), ("nr", &["number"]),
    ("num", &["number"]), ("misc", &["miscellaneous"]), ("incl", &["including"]),
    ("excl", &["excluding"]), ("e.g", &["for example", "for instance"]), ("eg", &["for example"]),
    ("i.e", &["that is"]), ("etc", &["et cetera", "and so on"]), ("vs", &["versus"]),
       
       ("ppl", &["people"]),
    ("thx", &["thanks"]), ("yrs", &["years"]),
    // of health
    ("BP", &["blood pressure"]), ("GP", &["general practitioner"]), ("ER", &["emergency room"]),
    ("ICU", &["intensive care unit"]), ("MRI", &["magnetic resonance imaging"]),
    ("PT", &["physical therapy", "physical therapist"]), ("OT", &["occupational therapy"]),
    ("BMI", &["body mass index"]), ("IBS", &["irritable bowel syndrome"]),
    ("ADHD", &["attention deficit hyperactivity disorder"]),
    ("OCD", &["obsessive-compulsive disorder", "obsessive compulsive disorder"]),
    ("PTSD", &["post-traumatic stress disorder", "posttraumatic stress disorder"]),
    ("UTI", &["urinary tract infection"]),
    ("IVF", &["in vitro fertilisation", "in vitro fertilization"]),
    ("COPD", &["chronic obstructive pulmonary disease"]), ("physio", &["physiotherapy"]),
    ("rehab", &["rehabilitation"]), ("meds", &["medication", "medications"]),
    ("vet", &["veterinarian"]), ("doc's", &["doctor's"]), ("Rx", &["prescription"]),
    ("HIIT", &["high-intensity interval training"]), ("flu", &["influenza"]),
    ("vax", &["vaccine"]), ("lab", &["laboratory"]), ("op", &["operation"]),
    // of daily life
    ("TV", &["television"]), ("PC", &["personal computer"]),
    ("DIY", &["do it yourself", "do-it-yourself"]),
    ("AC", &["air conditioning", "air conditioner"]), ("A/C", &["air conditioning"]),
    ("SUV", &["sport utility vehicle"]), ("ATM", &["cash machine"]),
    ("PIN", &["personal identification number"]),
    ("ID", &["identification", "identity document"]), ("DOB", &["date of birth"]),
    ("SSN", &["social security number"]), ("VAT", &["value added tax", "value-added tax"]),
    ("PhD", &["doctorate", "doctor of philosophy"]), ("MSc", &["master of science"]),
    ("BSc", &["bachelor of science"]), ("MBA", &["master of business administration"]),
    ("MA", &["master of arts"]), ("BA", &["bachelor of arts"]), ("uni", &["university"]),
    ("univ", &["university"]), ("exam", &["examination"]), ("exams", &["examinations"]),
    ("maths", &["mathematics"]), ("math", &["mathematics"]), ("bio", &["biology"]),
    ("chem", &["chemistry"]), ("econ", &["economics"]), ("psych", &["psychology"]),
    ("prof", &["professor"]), ("lit", &["literature"]), ("gym", &["gymnasium"]),
    ("phone", &["telephone"]), ("tel", &["telephone"]), ("mobile", &["mobile phone"]),
    ("cell", &["cell phone", "cellphone"]), ("fridge", &["refrigerator"]), ("bike", &["bicycle"]),
    ("bikes", &["bicycles"]), ("photo", &["photograph"]), ("photos", &["photographs"]),
    ("ad", &["advertisement"]), ("ads", &["advertisements"]), ("mum", &["mummy", "mom"]),
    ("dad", &["daddy"]), ("grandma", &["grandmother"]), ("grandpa", &["grandfather"]),
    ("sis", &["sister"]), ("bro", &["brother"]), ("hubby", &["husband"]), ("bday", &["birthday"]),
    ("b-day", &["birthday"]), ("xmas", &["christmas"]), ("veg", &["vegetables"]),
    ("veggies", &["vegetables"]), ("fave", &["favourite", "favorite"]), 
    ("apt", &["apartment"]), ("bldg", &["building"]), ("rm", &["room"]),
    ("st", &["saint", "street"]), ("rd", &["road"]), ("ave", &["avenue"]),
    ("blvd", &["boulevard"]), ("dr", &["doctor", "drive"]), ("mt", &["mount"]),
    ("sq", &["square"]), ("stn", &["station"]), ("rsvp", &["please reply"]), ("ok", &["okay"]),
    // of machines
    ("DB", &["database"]), ("API", &["application programming interface"]),
    ("UI", &["user interface"]), ("UX", &["user experience"]), ("OS", &["operating system"]),
    ("CPU", &["central processing unit", "processor"]),
    ("GPU", &["graphics processing unit", "graphics card"]),
    ("SSD", &["solid state drive", "solid-state drive"]), ("HDD", &["hard disk drive"]),
    ("VM", &["virtual machine"]), ("VMs", &["virtual machines"]),
    ("VPN", &["virtual private network"]), ("ML", &["machine learning"]),
    ("AI", &["artificial intelligence"]), ("NLP", &["natural language processing"]),
    ("LLM", &["large language model"]), ("LLMs", &["large language models"]),
    ("CI", &["continuous integration"]), ("MR", &["merge request"]), ("PRs", &["pull requests"]),
    ("k8s", &["kubernetes"]), ("JS", &["javascript"]), ("TS", &["typescript"]),
    ("py", &["python"]), ("DNS", &["domain name system"]), ("URL", &["web address"]),
    ("2FA", &["two-factor authentication", "two factor authentication"]),
    ("MFA", &["multi-factor authentication"]), ("SSO", &["single sign-on", "single sign on"]),
    ("IDE", &["integrated development environment"]),
    ("CLI", &["command line interface", "command-line interface"]),
    ("GUI", &["graphical user interface"]),
    // of the world
    ("UK", &["united kingdom"]), ("US", &["united states", "united states of america"]),
    ("USA", &["united states", "united states of america"]), ("EU", &["european union"]),
    ("UN", &["united nations"]), ("NYC", &["new york city"]), ("LA", &["los angeles"]),
    ("SF", &["san francisco"]), ("NZ", &["new zealand"]), ("UAE", &["united arab emirates"]),
    ("HK", &["hong kong"]), ("NHS", &["national health service"]),
    ("WHO", &["world health organization"]), ("BBC", &["british broadcasting corporation"]),
    ("MIT", &["massachusetts institute of technology"]),
    // spellings
    ("email", &["e-mail"]), ("emails", &["e-mails"]), ("wifi", &["wi-fi"]),
    ("online", &["on-line"]), ("cafe", &["café"]), ("cafes", &["cafés"]), ("naive", &["naïve"]),
    ("fiance", &["fiancé"]), ("fiancee", &["fiancée"]), ("jalapeno", &["jalapeño"]),
    ("jalapenos", &["jalapeños"]), ("colour", &["color"]), ("colours", &["colors"]),
     ("favourites", &["favorites"]), ("flavour", &["flavor"]),
    ("flavours", &["flavors"]), ("neighbour", &["neighbor"]), ("neighbours", &["neighbors"]),
    ("neighbourhood", &["neighborhood"]), ("centre", &["center"]), ("theatre", &["theater"]),
    ("metre", &["meter"]), ("litre", &["liter"]), ("grey", &["gray"]),
    ("programme", &["program"]), ("organise", &["organize"]), ("organises", &["organizes"]),
    ("organised", &["organized"]), ("organisation", &["organization"]), ("realise", &["realize"]),
    ("recognise", &["recognize"]), ("apologise", &["apologize"]), ("practise", &["practice"]),
    ("licence", &["license"]), ("cheque", &["check"]), ("cancelled", &["canceled"]),
    ("travelling", &["traveling"]), ("traveller", &["traveler"]), ("jewellery", &["jewelry"]),
    ("yoghurt", &["yogurt"]), ("tyre", &["tire"]), ("tyres", &["tires"]),
    ("aluminium", &["aluminum"]), ("pyjamas", &["pajamas"]), ("aeroplane", &["airplane"]),
    ("defence", &["defense"]), ("labour", &["labor"]), ("behaviour", &["behavior"]),
    ("honour", &["honor"]), ("rumour", &["rumor"]), ("doughnut", &["donut"]),
    ("doughnuts", &["donuts"]),
    // Spanish, German, French
    ("avda", &["avenida", "av"]), ("sr", &["señor"]), ("sra", &["señora"]), ("dra", &["doctora"]),
    ("ud", &["usted"]), ("uds", &["ustedes"]), ("prof", &["profesor"]),
    ("dpto", &["departamento"]), ("tfno", &["teléfono"]), ("tel", &["teléfono"]),
    ("núm", &["número"]), ("pza", &["plaza"]), ("c/", &["calle"]), ("bici", &["bicicleta"]),
    ("moto", &["motocicleta"]), ("tele", &["televisión"]), ("peli", &["película"]),
    ("cumple", &["cumpleaños"]), ("finde", &["fin de semana"]), ("EE.UU", &["estados unidos"]),
    ("str", &["strasse"]), ("bzw", &["beziehungsweise"]), ("z.b", &["zum beispiel"]),
    ("usw", &["und so weiter"]), ("ca", &["circa"]), ("evtl", &["eventuell"]),
    ("ggf", &["gegebenenfalls"]), ("inkl", &["inklusive"]), ("zzgl", &["zuzüglich"]),
    ("mwst", &["mehrwertsteuer"]), ("std", &["stunde", "stunden"]), ("abi", &["abitur"]),
    ("kita", &["kindertagesstätte"]), ("azubi", &["auszubildender"]),
    ("reha", &["rehabilitation"]), ("öpnv", &["öffentlicher nahverkehr"]),
    ("lkw", &["lastkraftwagen"]), ("pkw", &["personenkraftwagen"]),
    ("ag", &["aktiengesellschaft"]), ("rdv", &["rendez-vous"]), ("appart", &["appartement"]),
    ("prof", &["professeur"]), ("resto", &["restaurant"]), ("ciné", &["cinéma"]),
    ("frigo", &["réfrigérateur"]), ("mme", &["madame"]), ("m", &["monsieur"]),
];

/// Chinese names and words that are commonly shortened, and characters that are commonly mixed up
/// without another meaning, as `short=long`.
#[rustfmt::skip]
const HAN: &[(&str, &str)] = &[
    // names, institutions and things
    ("北大", "北京大学"), ("清华", "清华大学"), ("复旦", "复旦大学"), ("浙大", "浙江大学"),
    ("上海交大", "上海交通大学"), ("西安交大", "西安交通大学"), ("武大", "武汉大学"), ("川大", "四川大学"),
    ("厦大", "厦门大学"), ("吉大", "吉林大学"), ("哈工大", "哈尔滨工业大学"), ("华科", "华中科技大学"),
    ("中科大", "中国科学技术大学"), ("北师大", "北京师范大学"), ("华师大", "华东师范大学"), ("北航", "北京航空航天大学"),
    ("北理工", "北京理工大学"), ("北邮", "北京邮电大学"), ("北外", "北京外国语大学"), ("上外", "上海外国语大学"),
    ("港大", "香港大学"), ("台大", "台湾大学"), ("中科院", "中国科学院"), ("社科院", "社会科学院"),
    ("央视", "中央电视台"), ("央行", "中央银行"), ("发改委", "发展和改革委员会"), ("卫健委", "卫生健康委员会"),
    ("工行", "工商银行"), ("建行", "建设银行"), ("农行", "农业银行"), ("中行", "中国银行"), ("招行", "招商银行"),
    ("交行", "交通银行"), ("居委会", "居民委员会"), ("村委会", "村民委员会"), ("人社局", "人力资源和社会保障局"),
    ("公积金", "住房公积金"), ("医保", "医疗保险"), ("社保", "社会保险"), ("商保", "商业保险"),
    ("身份证", "居民身份证"), ("驾照", "驾驶证"), ("驾照", "驾驶执照"), ("高铁", "高速铁路"), ("高速", "高速公路"),
    ("地铁", "地下铁路"), ("空调", "空气调节器"), ("超市", "超级市场"), ("彩电", "彩色电视机"), ("电视", "电视机"),
    ("冰箱", "电冰箱"), ("手机", "移动电话"), ("电邮", "电子邮件"), ("高考", "普通高等学校招生全国统一考试"),
    ("考研", "考研究生"), ("初中", "初级中学"), ("高中", "高级中学"), ("体检", "体格检查"), ("核磁", "核磁共振"),
    ("化疗", "化学治疗"), ("理疗", "物理治疗"), ("血检", "血液检查"), ("三甲", "三级甲等"), ("世博", "世界博览会"),
    ("奥运会", "奥林匹克运动会"), ("奥运", "奥林匹克运动会"), ("世锦赛", "世界锦标赛"), ("欧盟", "欧洲联盟"),
    ("世卫", "世界卫生组织"), ("人资", "人力资源"), ("房贷", "住房贷款"), ("车贷", "汽车贷款"),
    ("物业", "物业公司"), ("科技", "科学技术"), ("环保", "环境保护"), ("公交", "公共交通"), ("公交车", "公共汽车"),
    ("单反", "单反相机"), ("维C", "维生素C"), ("维生素丙", "维生素C"), ("建行", "中国建设银行"),
    ("工行", "中国工商银行"), ("农行", "中国农业银行"),
    // one word, two writings
    ("账号", "帐号"), ("账户", "帐户"), ("账单", "帐单"), ("结账", "结帐"), ("身份", "身分"),
    ("其他", "其它"), ("唯一", "惟一"), ("想象", "想像"), ("图像", "图象"), ("好像", "好象"),
    ("年份", "年分"), ("成份", "成分"), ("座位", "坐位"), ("做法", "作法"),
    ("粘", "黏"), ("名字", "名子"), ("姥姥", "老姥"), 
    ("付款", "负款"), ("凑合", "凑和"), ("部署", "布署"), ("松弛", "松驰"), ("辐射", "幅射"),
    ("寒暄", "寒喧"), ("安装", "按装"), ("按摩", "安摩"), ("再接再厉", "再接再励"), ("一如既往", "一如继往"),
    ("迫不及待", "迫不急待"), ("川流不息", "穿流不息"), ("甘拜下风", "甘败下风"), ("按部就班", "按步就班"),
    ("脉搏", "脉博"), ("杀手锏", "杀手剪"), ("蛰伏", "蜇伏"), ("复习", "复息"), ("蓝色", "兰色"),
    ("鸡蛋", "鸡旦"), ("停车", "仃车"), ("提醒", "题醒"), ("已经", "以经"), ("应该", "因该"), ("即使", "既使"), ("坐地铁上班", "做地铁上班"), ("坐地铁去", "做地铁去"), ("坐地铁回", "做地铁回"),
    ("坐公交上班", "做公交上班"), ("坐公交去", "做公交去"), ("坐公交回", "做公交回"), ("出门坐公交", "出门做公交"), ("做饭", "作饭"), ("觉得", "觉的"), ("房间", "房问"),
];

static CONTRACTED: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| CONTRACTIONS.iter().copied().collect());

/// By the first word of the long form: its further words, and the short form.
type Longer = HashMap<&'static str, Vec<(Vec<&'static str>, &'static str)>>;

static LONG: LazyLock<Longer> = LazyLock::new(|| {
    let mut map = Longer::new();
    for (short, longs) in SHORT {
        for long in *longs {
            let mut words = long.split(' ');
            let Some(first) = words.next() else { continue };
            map.entry(first).or_default().push((words.collect(), short));
        }
    }
    map.values_mut()
        .for_each(|v| v.sort_by_key(|(words, _)| std::cmp::Reverse(words.len())));
    map
});

/// Short forms of what has another one too: `univ` is `uni`.
static ALIASES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut first: HashMap<&str, &str> = HashMap::new();
    let mut aliases = HashMap::new();
    for (short, longs) in SHORT.iter().filter(|(_, longs)| longs.len() == 1) {
        let usual = *first.entry(longs[0]).or_insert(short);
        if usual != *short {
            aliases.insert(*short, usual);
        }
    }
    aliases
});

/// Short forms that stand for something only in capitals.
static CAPITALS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let short = SHORT.iter().map(|(short, _)| *short);
    short.filter(|s| s.contains(char::is_uppercase)).collect()
});

/// The longest first, since one may hold another.
static HAN_BY_LENGTH: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let mut pairs = HAN.to_vec();
    pairs.sort_by_key(|(_, long)| std::cmp::Reverse(long.len()));
    pairs
});

/// The contraction written out, in lower case; none if it is none.
pub(super) fn contraction(lower: &str) -> Option<Vec<String>> {
    if let Some(long) = CONTRACTED.get(lower) {
        return Some(long.split(' ').map(str::to_owned).collect());
    }
    let (stem, rest) = ENDINGS
        .iter()
        .find_map(|(ending, long)| Some((lower.strip_suffix(ending)?, *long)))?;
    (!stem.is_empty()).then(|| vec![stem.to_owned(), rest.to_owned()])
}

/// The short form of a word written in capitals.
pub(super) fn capital(word: &str) -> Option<&'static str> {
    CAPITALS.get(word).copied()
}

/// The short form of what `words` begin with, and how many of them it stands for.
pub(super) fn shorten(words: &[&str]) -> Option<(&'static str, usize)> {
    let (first, rest) = words.split_first()?;
    if let Some(short) = ALIASES.get(first) {
        return Some((short, 1));
    }
    LONG.get(first)?
        .iter()
        .find(|(further, _)| rest.starts_with(further))
        .map(|(further, short)| (*short, further.len() + 1))
}

/// Whether a word is the short form of another one.
pub(crate) fn is_short(word: &str) -> bool {
    KNOWN_SHORT.contains(word)
}

static KNOWN_SHORT: LazyLock<HashSet<&str>> =
    LazyLock::new(|| SHORT.iter().map(|(short, _)| *short).collect());

/// The words of a phrase, each in the form that is compared, in lower case.
pub(crate) fn shortened(phrase: &str) -> Vec<String> {
    let words: Vec<&str> = phrase.split(' ').collect();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let (word, size) = shorten(&words[at..]).unwrap_or((words[at], 1));
        out.push(word.to_lowercase());
        at += size;
    }
    out
}

/// Chinese text with the short or usual form of each word.
pub(super) fn shorten_han(text: &str) -> String {
    let mut out = text.to_owned();
    for (short, long) in &*HAN_BY_LENGTH {
        // 北京大学生 are students in Beijing.
        if out.contains(long) && !out.contains(&format!("{long}生")) {
            out = out.replace(long, short);
        }
    }
    out
}

/// All words of the lists.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    let contractions = CONTRACTIONS
        .iter()
        .flat_map(|(short, long)| [*short, *long]);
    let endings = ENDINGS.iter().map(|(_, long)| *long);
    let short = SHORT
        .iter()
        .flat_map(|(short, longs)| std::iter::once(*short).chain(longs.iter().copied()));
    contractions
        .chain(endings)
        .chain(short)
        .flat_map(|text| text.split([' ', '-', '\'', '.', '/']))
}

/// The characters that only one of two writings of the Chinese list has.
pub(super) fn han() -> impl Iterator<Item = char> {
    let lacking = |of: &'static str, than: &'static str| of.chars().filter(|c| !than.contains(*c));
    HAN.iter()
        .flat_map(move |(short, long)| lacking(short, long).chain(lacking(long, short)))
}
