//! The scope guard: where or for what something holds.

use super::Classes;

#[rustfmt::skip]
pub(super) const CLASSES: Classes = &[
    ("work", &["work", "office", "workplace", "job", "公司", "办公室", "单位", "工作时", "上班时"]),
    ("home", &["home", "house", "家里", "在家"]),
    ("school", &["school", "university", "college", "class", "学校", "大学", "课堂"]),
    ("weekday", &["weekdays", "weekday", "workdays", "workday", "工作日", "平日"]),
    ("weekend", &["weekends", "weekend", "周末"]),
    ("summer", &["summer", "summers", "夏天", "夏季"]),
    ("winter", &["winter", "winters", "冬天", "冬季"]),
    ("business", &["work trips", "business trips", "business", "出差"]),
    ("holiday", &["holiday", "holidays", "vacation", "vacations", "leisure", "度假", "旅游", "旅行"]),
    ("indoors", &["indoors", "inside", "室内"]),
    ("outdoors", &["outdoors", "outside", "室外", "户外"]),
    ("server", &["server", "servers", "production", "prod", "服务器"]),
    ("laptop", &["laptop", "notebook", "笔记本电脑"]),
    ("staging", &["staging", "测试环境"]),
    ("phone", &["phone", "mobile", "手机"]),
    ("private", &["private", "personal", "私人", "个人"]),
    ("guests", &["guests", "visitors", "客人"]),
];
